# Task pods with Airflow's operators. Build Torpor's worker image first (worker-image/Dockerfile), or name a pushed one:
#   docker build -t airflow-tasks:dev -f airflow-bridge/worker.Dockerfile airflow-bridge
ARG WORKER_IMAGE=torpor-worker:dev
FROM ${WORKER_IMAGE}
ARG PROVIDERS=""
USER root
COPY pyproject.toml /src/airflow-bridge/
COPY torpor_airflow /src/airflow-bridge/torpor_airflow
RUN pip install --no-cache-dir /src/airflow-bridge ${PROVIDERS}
USER 65532:65532
