"""Generated requests: 200 with a valid body, or 4xx with a reason; never 5xx."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings

from tests.conftest import repeats
from tests.serve.served import app_of_the_demo

pytestmark = pytest.mark.long

EVERY: Any = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return app_of_the_demo()


def test_requests_generated_from_the_openapi_description(app: FastAPI) -> None:
    import schemathesis
    from schemathesis.specs.openapi.checks import response_schema_conformance

    def check(case: Any) -> None:
        response = case.call()
        assert response.status_code < 500
        if response.status_code == 200:
            case.validate_response(response, checks=[response_schema_conformance])
        else:
            assert response.json()["detail"]

    operations = schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations()
    for operation in [described.ok() for described in operations]:
        settings(max_examples=repeats(120), **EVERY)(given(operation.as_strategy())(check))()
