"""Dense search: encoders, vectors beside an index, nearest neighbours."""

__all__ = ["encoders", "search", "vectors"]
