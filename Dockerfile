# touche-rad as a container. Targets:
#   slim      the package on a plain Python image: an embedded index, no model or one elsewhere (default)
#   evaluator slim as the evaluator of a TIRA dataset
#   official  the same on the shared task's own base image, for its run.sh and serve.sh
#   gpu       the same beside vLLM, for a model of one's own
# Every base image is a build argument, so that it builds wherever one of them can be had.
ARG BASE=python:3.11-slim-bookworm
ARG OFFICIAL_BASE=ghcr.io/touche-webis-de/touche25-retrieval-augmented-debating-base:0.5.0-py3.13
ARG GPU_BASE=vllm/vllm-openai:v0.11.0

# --- the package in an environment of its own, and an index: of the demo collection, or of one of
# your own in docker/collection: --build-arg COLLECTION=docker/collection/arguments.jsonl.gz ---
FROM ${BASE} AS made
ENV PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -m venv /opt/touche-rad
COPY pyproject.toml README.md LICENSE /src/
COPY touche_rad /src/touche_rad
COPY retrieval /src/retrieval
COPY judges /src/judges
COPY docker/collection /src/docker/collection
COPY docker/dependencies.py docker/constraints.txt /src/docker/
ARG EXTRAS=""
RUN /opt/touche-rad/bin/pip install --quiet --constraint /src/docker/constraints.txt "/src${EXTRAS:+[$EXTRAS]}" \
    && /opt/touche-rad/bin/pip list --format=freeze > /opt/touche-rad/packages.txt \
    && /opt/touche-rad/bin/python /src/docker/dependencies.py sbom "${EXTRAS}" > /opt/touche-rad/sbom.cdx.json \
    && /opt/touche-rad/bin/pip uninstall --quiet --yes pip setuptools \
    && find /opt/touche-rad/lib -type d -name tests -prune -exec rm -r {} +
ARG COLLECTION=touche_rad/demo/arguments.jsonl
RUN /opt/touche-rad/bin/touche-rad index "/src/${COLLECTION}" -o /opt/index

# --- slim: a builder without BuildKit builds all that stands above its target, and so this stands here ---
FROM ${BASE} AS slim
LABEL org.opencontainers.image.title="touche-rad" \
      org.opencontainers.image.description="Debaters and judges for Retrieval-Augmented Debating" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=made /opt/touche-rad /opt/touche-rad
COPY --from=made /opt/index /opt/index
COPY docker/plugins /opt/plugins
COPY docker/start.sh docker/evaluation.json /app/
RUN echo "rad:x:10001:10001::/tmp:/usr/sbin/nologin" >> /etc/passwd && echo "rad:x:10001:" >> /etc/group
ENV PATH=/opt/touche-rad/bin:$PATH \
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    TOUCHE_RAD_INDEX=/opt/index XDG_CACHE_HOME=/tmp/cache IR_DATASETS_HOME=/tmp/ir_datasets
# TIRA's client mounts an output folder that only its own user may write to: --build-arg RUN_AS=0
ARG RUN_AS=10001:10001
USER ${RUN_AS}
WORKDIR /app
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
CMD ["/app/start.sh"]

# --- evaluates runs on a dataset for TIRA (docs/organise.md): touche-rad dataset evaluate ---
FROM slim AS evaluator
LABEL org.opencontainers.image.description="Evaluator of Retrieval-Augmented Debating"
# TIRA's client mounts an output folder that only its own user may write to.
ARG EVALUATE_AS=0
USER ${EVALUATE_AS}
HEALTHCHECK NONE
CMD ["touche-rad", "dataset", "evaluate", "--help"]

# --- slim on the task's own base image: its client starts /app/start.sh ---
FROM ${OFFICIAL_BASE} AS official
LABEL org.opencontainers.image.title="touche-rad" \
      org.opencontainers.image.description="Debaters and judges for Retrieval-Augmented Debating" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY pyproject.toml README.md LICENSE /src/
COPY touche_rad /src/touche_rad
COPY retrieval /src/retrieval
COPY judges /src/judges
COPY docker/collection /src/docker/collection
COPY docker/constraints.txt /src/docker/constraints.txt
ARG EXTRAS=""
ARG COLLECTION=touche_rad/demo/arguments.jsonl
RUN python3 -m pip install --quiet --no-cache-dir --constraint /src/docker/constraints.txt "/src${EXTRAS:+[$EXTRAS]}" \
    && touche-rad index "/src/${COLLECTION}" -o /opt/index && rm -rf /src
COPY docker/plugins /opt/plugins
COPY docker/start.sh /app/start.sh
COPY docker/evaluation.json /app/evaluation.json
WORKDIR /app
ENV TOUCHE_RAD_INDEX=/opt/index XDG_CACHE_HOME=/tmp/cache IR_DATASETS_HOME=/tmp/ir_datasets
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health', timeout=4)"]

# --- beside vLLM: -m vllm:MODEL starts the server of this image, whose packages are left as they are ---
FROM ${GPU_BASE} AS gpu
LABEL org.opencontainers.image.title="touche-rad" \
      org.opencontainers.image.description="Debaters and judges for Retrieval-Augmented Debating" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY pyproject.toml README.md LICENSE /src/
COPY touche_rad /src/touche_rad
COPY retrieval /src/retrieval
COPY judges /src/judges
COPY docker/collection /src/docker/collection
ARG EXTRAS=""
ARG COLLECTION=touche_rad/demo/arguments.jsonl
RUN python3 -m pip install --quiet --no-cache-dir "/src${EXTRAS:+[$EXTRAS]}" \
    && touche-rad index "/src/${COLLECTION}" -o /opt/index && rm -rf /src
# A model is mounted (/root/.cache/huggingface, or any folder), or baked in: --build-arg MODEL=folder
ARG MODEL=docker/no-model
COPY ${MODEL} /models/baked
COPY docker/plugins /opt/plugins
COPY docker/start.sh /app/start.sh
WORKDIR /app
# Without HF_HOME the models would be looked for below XDG_CACHE_HOME, and not where they are mounted.
ENV TOUCHE_RAD_INDEX=/opt/index XDG_CACHE_HOME=/tmp/cache IR_DATASETS_HOME=/tmp/ir_datasets \
    HF_HOME=/root/.cache/huggingface HF_HUB_OFFLINE=1 TRITON_CACHE_DIR=/tmp/cache/triton
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30m --retries=3 \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT []
CMD ["/app/start.sh"]

# --- what is built where no target is named ---
FROM slim AS default
