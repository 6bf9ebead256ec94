"""How the client of Elasticsearch sends a request to a node: as all requests to other machines."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from elastic_transport import (
    ApiResponseMeta,
    BaseNode,
    ConnectionError,
    ConnectionTimeout,
    HttpHeaders,
    NodeConfig,
    TlsError,
    TransportApiResponse,
    TransportError,
)
from elastic_transport.client_utils import DEFAULT
from elasticsearch.serializer import JsonSerializer

from retrieval._server import Connections
from touche_rad import http
from touche_rad.files.records import parse

LARGEST: Final = 2**28
"""Maximum bytes of a reply: thousands of long arguments."""


class StrictJson(JsonSerializer):  # type: ignore[misc]
    """Replies are read as strictly as files are: the server may be a stranger's."""

    def json_loads(self, data: bytes) -> Any:
        """Return the JSON of a reply; the client makes its own error of a ValueError."""
        return parse(data.decode())


class LimitedNode(BaseNode):  # type: ignore[misc]
    """A node whose replies have a maximum size, and end at the time limit also if bytes come."""

    def __init__(self, config: NodeConfig) -> None:
        super().__init__(config)
        authorities = http.certificates(config.ca_certs)
        # The environment's proxies are for servers of models and of web searches.
        self._connections = Connections(partial(http.open_client, authorities, proxies=False))

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: Any = DEFAULT,
    ) -> TransportApiResponse:
        """Send a request, and return the reply of any status."""
        seconds = self.config.request_timeout if request_timeout is DEFAULT else request_timeout
        policy = http.RequestPolicy(seconds=seconds, largest=LARGEST)
        request = http.Request(
            self.base_url,
            method,
            f"{self.base_url}{target}",
            content=body,
            headers={**self.headers, **(headers or {})},
        )
        try:
            response, content = self._connections.run(http.exchange, request, policy)
        except http.NoReplyInTime as error:
            raise ConnectionTimeout(str(error)) from error
        except http.NoConnection as error:
            # Only the message of a failed connection says that it is not secure.
            kind = TlsError if "[SSL" in str(error) else ConnectionError
            raise kind(str(error)) from error
        except http.BadReply as error:
            raise TransportError(str(error)) from error
        meta = ApiResponseMeta(
            status=response.status_code,
            http_version="1.1",
            headers=HttpHeaders(response.headers),
            duration=0.0,  # nobody reads it
            node=self.config,
        )
        return TransportApiResponse(meta, content)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
