echo "{{ ti.xcom_pull(task_ids='total') }} {{ params.currency }} on {{ ds }}"
