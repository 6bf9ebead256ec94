"""The entry point of installations made before `retrieval.elastic.backend`."""

from retrieval.elastic.backend import ElasticIndexes as ElasticIndexes
