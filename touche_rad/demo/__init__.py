"""The bundled demo data and the job that runs on it."""
