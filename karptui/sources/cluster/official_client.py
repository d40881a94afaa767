"""The official client, for access reviews and every write. Its requests go out over karptui's own transport.

So they are sent with the same credentials, certificates and proxies as everything else, and their errors are worded in
the same words. Importing the client takes longer than everything up to the first rows: lists and watches do without.
Nothing else imports it.
"""

from __future__ import annotations

import io
from typing import Any

import msgspec
import urllib3
from kubernetes.client.api.authorization_v1_api import AuthorizationV1Api
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.models.v1_resource_attributes import V1ResourceAttributes
from kubernetes.client.models.v1_self_subject_access_review import V1SelfSubjectAccessReview
from kubernetes.client.models.v1_self_subject_access_review_spec import V1SelfSubjectAccessReviewSpec

from karptui.actions.request import APPLY_PATCH, Request
from karptui.sources.actions.permit import Permit
from karptui.sources.cluster.body import decoded
from karptui.sources.cluster.errors import UnreachableError, one_line
from karptui.sources.cluster.transport import JSON, Transport


class _Connections:
    """Takes the place of the client's connection pool."""

    def __init__(self, transport: Transport, permit: Permit | None) -> None:
        self._transport = transport
        self._permit = permit

    def request(
        self, method: str, url: str, *, headers: dict[str, str], body: str | bytes | None = None, **_options: object
    ) -> urllib3.BaseHTTPResponse:
        """Send a request; raises as ``Transport.write`` does."""
        path = url.removeprefix(self._transport.server)
        sent = body.encode() if isinstance(body, str) else body or b""
        if self._permit is None:
            data = self._transport.review(path, sent)
        else:
            content_type = headers.get("Content-Type", JSON)
            data = self._transport.write(self._permit, method, path, sent, content_type=content_type)
        return urllib3.HTTPResponse(io.BytesIO(data), headers={"Content-Type": JSON}, status=200, reason="OK")


def api_client(transport: Transport, permit: Permit | None = None) -> ApiClient:
    """Return a client whose requests a transport sends: without a permit only reviews."""
    settings = Configuration()
    settings.host = transport.server
    settings.proxy = None
    client = ApiClient(settings)
    client.rest_client.pool_manager = _Connections(transport, permit)
    return client


def review_access(transport: Transport, attributes: dict[str, str]) -> tuple[bool, str]:
    """Ask whether the user may do something; return the answer and the authorizer's words, on one line."""
    review = V1SelfSubjectAccessReview(
        api_version="authorization.k8s.io/v1",
        kind="SelfSubjectAccessReview",
        spec=V1SelfSubjectAccessReviewSpec(resource_attributes=V1ResourceAttributes(**attributes)),
    )
    try:
        status = AuthorizationV1Api(api_client(transport)).create_self_subject_access_review(review).status
    except (ApiException, ValueError, TypeError, AttributeError) as error:
        why = one_line(str(error))
        raise UnreachableError(f"{transport.server} did not answer with an access review: {why}") from error
    return (False, "") if status is None else (bool(status.allowed), one_line(status.reason or ""))


def send(transport: Transport, permit: Permit, request: Request) -> dict[str, Any]:
    """Send a request that changes an object, and return the answer.

    Raises:
        NotAllowedError: there is no permit for this server.
    """
    body: Any = request.body
    if request.content_type == APPLY_PATCH:
        # JSON is YAML, which not every version of the client writes itself.
        body = msgspec.json.encode(body).decode()
    headers = {"Content-Type": request.content_type, "Accept": JSON}
    client = api_client(transport, permit).rest_client
    response = client.request(request.method, f"{transport.server}{request.url}", headers=headers, body=body)
    data = response.data if response.data is not None else response.read()
    return decoded(data, dict[str, Any], f"{transport.server} did not answer with an object")


def who_am_i(transport: Transport) -> str:
    """Return the user's name by the server's account; empty if it does not tell."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    headers = {"Content-Type": JSON, "Accept": JSON}
    url = f"{transport.server}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    response = api_client(transport).rest_client.request("POST", url, headers=headers, body=review)
    data = response.data if response.data is not None else response.read()
    answer = decoded(data, dict[str, Any], f"{transport.server} did not answer with a review")
    try:
        return str(answer["status"]["userInfo"]["username"])
    except (KeyError, TypeError):
        return ""
