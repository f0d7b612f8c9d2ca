#!/bin/sh
# Removes Torpor from the cluster of kubectl's current context. It does not need a running operator.
#
#   sh manifests/uninstall.sh
#
# It deletes all Workflows, TaskRuns, WorkflowTemplates, Schedules and Backfills, the pods of tasks, the archive with its
# results and history, all pools, every binding of a role of Torpor, and what manifests/namespace and
# manifests/components put into the namespaces of workflows. It keeps those namespaces and everything else in them.
# It needs cluster-admin. A second run continues after a failure. docs/install.md describes each step.
#
#   GRACE    seconds that a running operator has to cancel the Workflows, 60 by default
#   KUBECTL  the kubectl to use
set -eu
: "${GRACE:=60}" "${KUBECTL:=kubectl}"

SYSTEM=torpor-system
TASK_PODS=torpor.dev/taskrun-uid

# The finalizers of Torpor on an object, and where they are in its list.
FINALIZERS='{{range .items}}{{$meta := .metadata}}{{range $index, $name := $meta.finalizers}}{{if or
  (eq $name "torpor.dev/cancel-first") (eq $name "torpor.dev/outcome") (eq $name "torpor.dev/kopf")
  }}{{$meta.namespace}} {{$meta.name}} {{$index}} {{$name}}{{"\n"}}{{end}}{{end}}{{end}}'
# The namespace is the last word, since a ClusterRoleBinding has none.
BINDINGS='{{range .items}}{{.roleRef.kind}}/{{.roleRef.name}} {{.kind}} {{.metadata.name}} {{.metadata.namespace}}{{"\n"}}{{end}}'

say() { echo "uninstall: $*" >&2; }

installed() { [ -n "$("$KUBECTL" get crd workflows.torpor.dev --ignore-not-found -o name)" ]; }

operator_runs() {
  available=$("$KUBECTL" -n "$SYSTEM" get deployment torpor-operator --ignore-not-found \
    -o 'jsonpath={.status.availableReplicas}')
  [ "${available:-0}" -gt 0 ]
}

# The other finalizers of an object stay. A patch fails if the list has changed meanwhile; hence several attempts.
remove_finalizers() { # KIND [LABEL SELECTOR]
  kind=$1
  shift
  for _ in 1 2 3 4 5; do
    found=$("$KUBECTL" get "$kind" --all-namespaces "$@" -o go-template="$FINALIZERS")
    [ -n "$found" ] || return 0
    echo "$found" | while read -r namespace name index finalizer; do
      path=/metadata/finalizers/$index
      patch="[{\"op\":\"test\",\"path\":\"$path\",\"value\":\"$finalizer\"},{\"op\":\"remove\",\"path\":\"$path\"}]"
      "$KUBECTL" -n "$namespace" patch "$kind" "$name" --type=json -p "$patch" < /dev/null ||
        say "$kind $namespace/$name changed or was deleted"
    done
  done
}

# Older versions do not have all kinds.
kinds() {
  for plural in "$@"; do
    "$KUBECTL" get crd "$plural.torpor.dev" --ignore-not-found -o 'jsonpath={.metadata.name}{"\n"}'
  done
}

# Schedules and Backfills come first, since they create Workflows.
delete_runs() {
  for kind in $(kinds schedules backfills workflows); do
    "$KUBECTL" delete "$kind" --all --all-namespaces --wait=false
  done
}

if installed; then
  say "deleting all Schedules, Backfills and Workflows"
  delete_runs
  if operator_runs; then
    say "waiting up to $GRACE s for the operator to cancel them"
    "$KUBECTL" wait workflows.torpor.dev --all --all-namespaces --for=delete --timeout="${GRACE}s" ||
      say "the operator did not finish, or there was no Workflow; continuing without it"
  fi
fi

say "stopping the operator, the triggerers and the archive"
"$KUBECTL" -n "$SYSTEM" delete deployments --all --cascade=foreground --timeout=120s ||
  say "a pod did not end; continuing"

say "deleting the pods of tasks"
"$KUBECTL" delete pods --all-namespaces -l "$TASK_PODS" --wait=false
remove_finalizers pods -l "$TASK_PODS"

if installed; then
  say "removing the finalizers of Schedules, Backfills and Workflows"
  delete_runs # those that were created since
  for kind in $(kinds schedules backfills workflows); do
    remove_finalizers "$kind"
  done
fi
say "deleting all kinds with all objects of them"
"$KUBECTL" delete crd schedules.torpor.dev backfills.torpor.dev workflowtemplates.torpor.dev \
  clusterworkflowtemplates.torpor.dev workflows.torpor.dev taskruns.torpor.dev --ignore-not-found --timeout=600s
"$KUBECTL" wait pods --all-namespaces -l "$TASK_PODS" --for=delete --timeout=120s ||
  say "there was no pod of a task, or one did not end"

say "deleting what the namespaces of workflows were set up with, and the bindings of the roles"
"$KUBECTL" get rolebindings,clusterrolebindings --all-namespaces -o go-template="$BINDINGS" |
  while read -r role kind name namespace; do
    case $role in
      ClusterRole/torpor-operator* | ClusterRole/torpor-triggerer* | ClusterRole/torpor-archive* | ClusterRole/torpor-task | \
        ClusterRole/torpor-view | ClusterRole/torpor-cluster-template-view | ClusterRole/torpor-object-tasks | \
        ClusterRole/torpor-install | ClusterRole/torpor-edit | ClusterRole/torpor-approve | Role/torpor-secrets) ;;
      *) continue ;;
    esac
    if [ "$kind" = RoleBinding ]; then
      "$KUBECTL" -n "$namespace" delete rolebinding "$name" --ignore-not-found < /dev/null
    else
      "$KUBECTL" delete clusterrolebinding "$name" --ignore-not-found < /dev/null
    fi
  done
for object in serviceaccounts/torpor-task serviceaccounts/torpor-archive-reader networkpolicies/torpor-task \
  roles/torpor-secrets resourcequotas/torpor resourcequotas/torpor-templates configmaps/torpor-pools leases/torpor-installation \
  rolebindings/torpor-reader-confined; do
  "$KUBECTL" delete "${object%/*}" --all-namespaces --field-selector="metadata.name=${object#*/}"
done

say "deleting the namespace $SYSTEM and the objects of the cluster"
"$KUBECTL" delete namespace "$SYSTEM" --ignore-not-found --timeout=300s
for label in app.kubernetes.io/part-of=torpor torpor.dev/trigger-pool; do
  "$KUBECTL" delete validatingadmissionpolicybindings,validatingadmissionpolicies,clusterrolebindings,clusterroles,priorityclasses \
    -l "$label"
done
say "Torpor is removed"
