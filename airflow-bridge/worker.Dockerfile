# Task pods with Airflow's operators. Build Torpor's worker image first (worker-image/Dockerfile), or name a pushed one:
#   docker build -t airflow-tasks:dev -f airflow-bridge/worker.Dockerfile airflow-bridge
ARG WORKER_IMAGE=torpor-worker:dev
FROM ${WORKER_IMAGE}
ARG PROVIDERS=""
USER root
# Airflow comes first: a change of the bridge reuses its layer.
COPY pyproject.toml dependencies.py /src/airflow-bridge/
RUN python /src/airflow-bridge/dependencies.py > /src/requirements.txt \
    && pip install --no-cache-dir -r /src/requirements.txt ${PROVIDERS}
COPY torpor_airflow /src/airflow-bridge/torpor_airflow
RUN pip install --no-cache-dir /src/airflow-bridge
USER 65532:65532
