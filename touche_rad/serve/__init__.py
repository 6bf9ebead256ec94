"""The server of both sub-tasks: what the official client calls, and a page that says how."""

from touche_rad.serve.app import create_app

__all__ = ["create_app"]
