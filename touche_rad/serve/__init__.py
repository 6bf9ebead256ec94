"""The HTTP server of both sub-tasks, and a page that describes its API."""

from touche_rad.serve.app import create_app

__all__ = ["create_app"]
