"""What every kind shares: reconcile loop, work queue, writes, Events, namespaces, pools."""
