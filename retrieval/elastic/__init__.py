"""The index on Elasticsearch: the official one as it stands, and ones that we make there."""
