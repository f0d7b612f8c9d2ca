#!/bin/sh
# Turns a Debian root file system with kind's own files into a kind node; runs inside it, by chroot.
# The same steps as kind's images/base/Dockerfile, which fetches containerd, runc and CNI plugins from
# GitHub where this takes Debian's.
set -eu
: "${KUBERNETES:?}" "${PAUSE:?}" "${RESTRICT_OOM:?}"

chmod 755 /kind /kind/bin /kind/bin/* /usr/local/bin/*

find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete
rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* \
  /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/sockets.target.wants/*udev* \
  /lib/systemd/system/sockets.target.wants/*initctl* /lib/systemd/system/basic.target.wants/*
echo ReadKMsg=no >> /etc/systemd/journald.conf
ln -sf /usr/lib/systemd/systemd /sbin/init
systemctl enable kubelet.service containerd.service undo-mount-hacks.service refuse-early.service
systemctl mask systemd-binfmt.service # it would register things kernel-wide

ln -sf /usr/bin/containerd /usr/local/bin/containerd
mkdir -p /opt/cni /etc/cni/net.d /etc/kubernetes/manifests /kind/manifests
ln -sfn /usr/lib/cni /opt/cni/bin
rm -f /etc/cni/net.d/*

for each in kubelet kubectl; do ln -sf /usr/local/bin/kube "/usr/bin/$each"; done

# kind's hook that shows each container a product name of its own is left out: four processes per container.
ctr oci spec | jq 'del(.process.rlimits)' > /etc/containerd/cri-base.json
sed -i -e "s|sandbox_image = .*|sandbox_image = \"registry.k8s.io/pause:$PAUSE\"|" \
  -e "s|restrict_oom_score_adj = .*|restrict_oom_score_adj = $RESTRICT_OOM|" /etc/containerd/config.toml

echo "$KUBERNETES" > /kind/version
