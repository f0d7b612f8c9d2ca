"""DAG files of Airflow as WorkflowTemplates and Schedules of Torpor."""
