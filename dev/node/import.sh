#!/bin/sh
# Puts image archives into the containerd store of a root file system: import.sh ROOT ARCHIVE...
# To be run in a mount namespace of its own, so that nothing stays mounted whatever happens.
# Unpacked here once, so that no node has to when it starts.
set -eu
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
# overlayfs wants its folders on a file system that is a mount of its own in here.
mount --bind "$root/var/lib/containerd" "$root/var/lib/containerd"
printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' > "$root/tmp/import.toml"

chroot "$root" containerd --config /tmp/import.toml 2> "$root/tmp/containerd.log" &
daemon=$!
trap 'kill "$daemon" 2> /dev/null; wait "$daemon" || true' EXIT
waited=0
until chroot "$root" ctr version > /dev/null 2>&1; do
  waited=$((waited + 1))
  if [ "$waited" -gt 100 ]; then
    cat "$root/tmp/containerd.log" >&2
    exit 1
  fi
  sleep 0.1
done
for archive in "$@"; do
  chroot "$root" ctr --namespace k8s.io images import - < "$archive" >&2
done
