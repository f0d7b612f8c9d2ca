# The image of the operator and the triggerer. Task pods have their own: worker-image/Dockerfile.
# No BuildKit syntax, so that Debian's docker.io builds it too.
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
ENV UV_PROJECT_ENVIRONMENT=/opt/torpor \
    UV_PYTHON_DOWNLOADS=never \
    UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir "uv>=0.13,<0.14"
WORKDIR /src
COPY . .
RUN /opt/uv/bin/uv sync --frozen --no-dev --no-editable --no-cache --python python3 \
    --package torpor-operator --package torpor-triggerer

FROM ${BASE_IMAGE}
COPY --from=build /opt/torpor /opt/torpor
ENV PATH=/opt/torpor/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
# Which of the two it is, the Deployment says: python -m torpor_operator, or python -m torpor_triggerer.
CMD ["python", "-c", "raise SystemExit('say python -m torpor_operator or python -m torpor_triggerer')"]
