#!/bin/sh
# Verifies the signature of images with cosign, and adds their digests to the list of the policy:
#
#   sh allow.sh registry.example.org/team/torpor:0.2.0@sha256:DIGEST...
#
# COSIGN_OPTIONS says whose signature counts: `--key cosign.pub --insecure-ignore-tlog=true`, or the identity and the
# issuer of a workflow. COSIGN and KUBECTL name other programs. Ends at the first image that has no such signature.
set -eu

for image; do
    case $image in
    *@sha256:*) ;;
    *)
        echo "$image: name the image by its digest" >&2
        exit 2
        ;;
    esac
    # shellcheck disable=SC2086  # these are several words
    ${COSIGN:-cosign} verify ${COSIGN_OPTIONS:?"says whose signature counts"} "$image" >/dev/null
    digest=$(echo "${image##*@}" | tr : -)
    ${KUBECTL:-kubectl} -n torpor-system patch configmap torpor-signed-images --type merge \
        --patch "{\"data\": {\"$digest\": \"$image\"}}"
done
