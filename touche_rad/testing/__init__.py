"""Contract tests for plugins: what a debater, judge, panel or retriever must hold.

    from touche_rad.testing import check_debater

    def test_contract() -> None:
        check_debater("my-debater")

Each check creates the plugin by its name, lets it work on debates of the demo and on unusual ones,
and raises `ContractError` with every broken rule. A plugin that needs a model gets one that answers
with examples of the schemas; pass `model=` to use another.
"""

from touche_rad.testing.contract import (
    ContractError,
    check_debater,
    check_judge,
    check_panel,
    check_retriever,
)

__all__ = ["ContractError", "check_debater", "check_judge", "check_panel", "check_retriever"]
