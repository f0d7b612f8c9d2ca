# The image of the operator, the triggerer, the archive and the page. Task pods have their own: worker-image/Dockerfile.
# No BuildKit syntax, so that Debian's docker.io builds it too.
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/torpor \
    UV_PYTHON_DOWNLOADS=never \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy
WORKDIR /src
COPY dev/uv.txt dev/
RUN python3 -m venv /opt/uv \
    && /opt/uv/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r dev/uv.txt
# First what others wrote, by the lock alone: a change in our own code reuses this layer.
COPY pyproject.toml uv.lock ./
COPY libraries/wire/pyproject.toml wire/
COPY libraries/wire/pyproject.toml libraries/wire/
COPY libraries/views/pyproject.toml libraries/views/
COPY libraries/client/pyproject.toml libraries/client/
COPY libraries/expressions/pyproject.toml libraries/expressions/
COPY libraries/kubernetes/pyproject.toml libraries/kubernetes/
COPY crds/pyproject.toml crds/
COPY libraries/expressions/pyproject.toml expressions/
COPY operator/pyproject.toml operator/
COPY triggerer/pyproject.toml triggerer/
COPY archive/pyproject.toml archive/
COPY worker-image/pyproject.toml worker-image/
COPY ui/pyproject.toml ui/
COPY dev/pyproject.toml dev/
COPY examples/census/pyproject.toml examples/census/
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-cache --python python3 --no-install-workspace \
    --package torpor-operator --package torpor-triggerer --package torpor-archive --package torpor-ui
COPY libraries libraries
COPY crds crds
COPY operator operator
COPY triggerer triggerer
COPY archive archive
COPY worker-image worker-image
COPY ui/torpor_ui ui/torpor_ui
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-cache --python python3 --no-editable \
    --package torpor-operator --package torpor-triggerer --package torpor-archive --package torpor-ui

FROM ${BASE_IMAGE}
COPY --from=build /opt/torpor /opt/torpor
# LOGNAME, since the numeric user has no entry in /etc/passwd and kopf asks who it runs as.
ENV PATH=/opt/torpor/bin:$PATH \
    LOGNAME=torpor \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
# Which of the four it is, the Deployment says: python -m torpor_operator, torpor_triggerer, torpor_archive or torpor_ui.
CMD ["python", "-c", "raise SystemExit('say python -m torpor_operator, torpor_triggerer, torpor_archive or torpor_ui')"]
