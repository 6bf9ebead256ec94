"""InspireDebate's training as commands: SFT, then rounds of self-debate and DPO, each tested."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    NonNegativeInt,
    PositiveInt,
    field_validator,
)

from touche_rad import files
from touche_rad.contests.scoring import score_contests
from touche_rad.debate import Debate
from touche_rad.errors import InputError, OptionError, nearest
from touche_rad.files.outputs import sha256_of
from touche_rad.files.records import read_toml_record
from touche_rad.files.traces import TRACE
from touche_rad.frozen import frozen
from touche_rad.plugins import Configured, Kind, parse_plugin
from touche_rad.plugins.registry import configure, plugin_text
from touche_rad.records import UpTo1000
from touche_rad.text import key_values
from touche_rad.training.card import adapter_options

Values = Mapping[str, bool | int | float | str]
"""Options by name."""
PLUGINS: Final[Mapping[str, Kind]] = {"debater": "debater", "judge": "panel"}
"""The keys that name a plugin."""
_RANK: Final = 16
"""The rank of `train sft` if the plan has none."""


def _no_option(word: str) -> str:
    """Refuse what a command would take for an option, such as --plugin: it may be a stranger's."""
    if word.startswith("-"):
        raise ValueError("expected a text that does not begin with '-'")
    return word


_Word = Annotated[str, AfterValidator(_no_option)]


class LoopPlan(BaseModel, frozen=True, extra="forbid"):
    """The content of a plan, which is a TOML file."""

    topics: _Word
    model: _Word
    """The model to train: a folder, or OWNER/NAME."""
    judge_model: _Word = ""
    """What -m of the judge names; empty: what the environment names."""
    teacher: _Word = ""
    """The model that plays the debates of SFT."""
    recorded: tuple[_Word, ...] = ()
    """Debates for SFT, with their reasoning, instead of those of a teacher."""
    index: _Word = ""
    debater: str = "inspiredebate(profile=paper,shows=both,max_words=200)"
    judge: str = "inspirescore(profile=paper)"
    rounds: UpTo1000 = 1
    speeches: UpTo1000 = 4
    """Speeches of each side in a debate."""
    samples: UpTo1000 = 2
    """Answers of the model to the same prompt, which form pairs; 1: the two sides form pairs."""
    split: tuple[PositiveInt, PositiveInt, PositiveInt] = (100, 510, 100)
    """Topics for SFT, for debates of a model with itself and for tests; their shares, if fewer."""
    seed: NonNegativeInt = 0
    sft: Values = {}
    preferences: Values = {}
    dpo: Values = {}
    """Options of `train sft`, `train preferences` and `train dpo`."""
    play: Values = {}
    """Settings of the trained model, such as `temperature`."""
    serve: Values = {}
    """Options of vLLM."""

    @field_validator("sft", "preferences", "dpo")
    @classmethod
    def _known(cls, options: Values) -> Values:
        """Refuse other words of a command than these: the plan may be a stranger's."""
        for key in options:
            if key not in _OPTIONS:
                raise ValueError(f"there is no option {key!r}{nearest(key, _OPTIONS)}")
        if not isinstance(options.get("rank", _RANK), int):
            raise ValueError("expected a whole number as rank")
        return options

    def need_trust(self) -> str:
        """Return an option of vLLM that may run code or name a file; empty if there is none."""
        for key, value in self.serve.items():
            if not _OF_VLLM.fullmatch(f"{key}={value}"):
                return key
        return ""


_OPTIONS: Final = (
    "epochs rate batch rank beta precision held-out wording pairing margin reward score"
).split()
"""Options that a plan may set for the commands of `train`."""
_OF_VLLM: Final = re.compile(
    r"(max[-_]model[-_]len|max[-_]num[-_]seqs|max[-_]num[-_]batched[-_]tokens|quantization"
    r"|gpu[-_]memory[-_]utilization|(kv[-_]cache[-_])?dtype|tensor[-_]parallel[-_]size"
    r"|enforce[-_]eager)=[\w.]+"
)
"""Options of vLLM that run no code of a plan or a model, with a value that is one word."""


def load_loop(path: Path) -> LoopPlan:
    """Read and check a plan."""
    plan = read_toml_record(path, LoopPlan)
    if not plan.teacher and not plan.recorded:
        raise InputError(path, "name the model that plays the debates of SFT", field="teacher")
    for key in PLUGINS:
        try:
            plugin_of(plan, key)
        except OptionError as error:
            raise InputError(path, str(error), field=key) from None
    return plan


def plugin_of(plan: LoopPlan, key: str) -> Configured:
    """Return the plugin of a key of `PLUGINS`, with its options."""
    return configure(PLUGINS[key], getattr(plan, key))


def split_topics(plan: LoopPlan) -> dict[str, list[Debate]]:
    """Return the topics of each part, drawn with the seed; the recorded ones are in no part."""
    recorded: set[str] = set()
    for path in map(Path, plan.recorded):
        if files.detect_kind(path) in {files.Kind.CONTESTS, *files.DEBATES}:
            recorded |= {contest.motion for contest in files.read_contests(path)}
    by_claim = {debate.claim: debate for debate in files.read_claims(Path(plan.topics))}
    topics = [by_claim[claim] for claim in sorted(by_claim) if claim not in recorded]
    Random(plan.seed).shuffle(topics)
    sizes = dict(zip(("sft", "debate", "test"), plan.split, strict=True))
    if plan.recorded:
        del sizes["sft"]
    if len(topics) < len(sizes):
        raise InputError(
            Path(plan.topics), f"expected {len(sizes)} topics or more, got {len(topics)}"
        )
    # With fewer topics than the plan wants, each part has one, and its share of the rest.
    wanted = sum(sizes.values())
    if len(topics) < wanted:
        spare = len(topics) - len(sizes)
        sizes = {name: 1 + size * spare // wanted for name, size in sizes.items()}
        sizes["debate"] += len(topics) - sum(sizes.values())
    parts = {}
    for name, size in sizes.items():
        parts[name] = topics[:size]
        topics = topics[size:]
    return parts


_SFT: Final = "train sft {sft} {sources} --base {model} {seed} -o {here}/model"
_TEACHER: Final = (
    "simulate {out}/sft.tsv {game} -d {base} -m {teacher} -o {here}/debates.jsonl",
    _SFT.replace("{sources}", "{here}/debates.jsonl"),
)
_ROUND: Final = (
    "simulate {out}/debate.tsv {game} {samples} -d {last_debater} {last_served} "
    "-o {here}/debates.jsonl",
    "judge {here}/debates.jsonl {judge} -o {here}/outcomes.jsonl",
    "train preferences {preferences} {here}/debates.jsonl {here}/outcomes.jsonl --replace "
    "-o {here}/pairs.jsonl",
    "train dpo {dpo} {here}/pairs.jsonl --from {last}/model {seed} -o {here}/model",
)
_TEST: Final = (
    "simulate {out}/test.tsv {game} -d {base} --against {debater} {served} -o {here}/test.jsonl",
    "judge {here}/test.jsonl {judge} -o {here}/verdicts.jsonl",
)


@frozen
class Loop:
    """A plan with the folder of its results, which has a folder for each round; 0 is SFT."""

    plan: LoopPlan
    out: Path

    def folder(self, number: int) -> Path:
        """Return the folder of a round."""
        return self.out / f"round-{number}"

    def adapter(self, number: int) -> str:
        """Return the adapter that a round trains."""
        return str(self.folder(number) / "model" / "adapter")

    def commands(self) -> Iterator[list[str]]:
        """Yield all commands in their order."""
        first = (_SFT,) if self.plan.recorded else _TEACHER
        for number in range(self.plan.rounds + 1):
            values = self._values(number)
            for command in (*(_ROUND if number else first), *_TEST):
                words: list[str] = []
                for word in command.split():
                    value = values.get(word[1:-1]) if word.startswith("{") else None
                    words += value if isinstance(value, list) else [word.format_map(values)]
                yield words

    def _values(self, number: int) -> dict[str, str | list[str]]:
        """Return what stands for the placeholders in the commands of a round."""
        plan = self.plan
        last = max(number - 1, 0)
        seed = ["--seed", str(plan.seed)]
        game = ["--both-sides", "--rounds", str(plan.speeches), "--words", "0", *seed]
        judge_model = ["-m", plan.judge_model] if plan.judge_model else []
        # Rebuilt prompts ask as the debater asks: the profiles of the paper let it word freely.
        wording = {"wording": "free"} if "profile=paper" in plan.debater else {}
        pairing = "context" if plan.samples > 1 else "sides"
        sampling: Values = {"temperature": 1} if plan.samples > 1 else {}
        return {
            "out": str(self.out),
            "here": str(self.folder(number)),
            "last": str(self.folder(last)),
            "model": plan.model,
            "teacher": plan.teacher,
            "seed": seed,
            "base": self._debater(),
            "debater": self._debater(self.adapter(number)),
            "last_debater": self._debater(self.adapter(last)),
            "game": [*game, *(["-i", plan.index] if plan.index else [])],
            "sources": [*plan.recorded],
            # The samples of an answer are judged beside the same speech before.
            "judge": ["-j", plan.judge, *judge_model, *seed, "--cache", str(self.out / "cache")],
            "samples": ["--samples", str(plan.samples)],
            "served": self._served(number),
            "last_served": self._served(last, sampling),
            "sft": _flags({**wording, **plan.sft}),
            "preferences": _flags({"pairing": pairing, **wording, **plan.preferences}),
            "dpo": _flags(plan.dpo),
        }

    def _debater(self, adapter: str = "") -> str:
        """Return the debater with the model of `-m`, or with an adapter on its server."""
        name, options = parse_plugin(self.plan.debater)
        if adapter:
            options = {**options, "model": f"#{adapter}"}
        return plugin_text(name, options)

    def _served(self, number: int, sampling: Values = MappingProxyType({})) -> list[str]:
        """Return the options with which vLLM serves the base model and the adapter of a round."""
        plan = self.plan
        words = ["-m", f"vllm:{plan.model}"]
        adapter = adapter_options(self.adapter(number), int(plan.sft.get("rank", _RANK)))
        # The name of an adapter tells no family of models.
        play = {"think": "off", **sampling, **plan.play}
        for kind, options in (("vllm", {**plan.serve, **adapter}), ("model", play)):
            for option in key_values(options):
                words += ["-O", f"{kind}.{option}"]
        return words

    def inputs(self) -> dict[str, str]:
        """Return the digests of the files that the plan names."""
        return {path: sha256_of(Path(path)) for path in (self.plan.topics, *self.plan.recorded)}

    def results(self) -> dict[str, str]:
        """Return the digests of topics, data, debates and verdicts, and of all models."""
        paths = list(Path(self.plan.model).glob("*.safetensors"))
        patterns = (
            "*.tsv",
            "round-*/*.jsonl",
            "round-*/model/*.jsonl",
            "round-*/model/adapter/*.safe*",
        )
        paths += [path for pattern in patterns for path in self.out.glob(pattern)]
        return {str(path): sha256_of(path) for path in sorted(paths) if TRACE not in path.name}

    def scores(self) -> list[dict[str, Any]]:
        """Return the scores of base and model on the test topics, and their wins, by round."""
        rounds = []
        for number in range(self.plan.rounds + 1):
            folder = self.folder(number)
            adapter = self.adapter(number)
            report = score_contests([folder / "verdicts.jsonl"], folder / "test.jsonl")
            means: dict[str, float | None] = {"base": None, "trained": None}
            for row in report.means:
                if row.dimension == "total":
                    means["trained" if adapter in row.debater else "base"] = row.mean
            rounds.append(
                {
                    "round": number,
                    "model": adapter,
                    **means,
                    "scores": [
                        row.model_dump(exclude={"run"}) for row in (*report.means, *report.wins)
                    ],
                }
            )
        return rounds


def _flags(options: Values) -> list[str]:
    # In one word, which cannot become another option.
    return [f"--{key}={value}" for key, value in options.items()]
