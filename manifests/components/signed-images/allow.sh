#!/bin/sh
# Verifies the signature of images with cosign, and adds their digests to the list in policy.yaml beside this file:
#
#   sh allow.sh registry.example.org/team/torpor:0.2.0@sha256:DIGEST...
#
# COSIGN_OPTIONS says whose signature counts: `--key cosign.pub --insecure-ignore-tlog=true`, or the identity and the
# issuer of a workflow. COSIGN names another cosign. Ends at the first image that has no such signature.
set -eu
policy=$(dirname "$0")/policy.yaml

for image; do
    digest=${image##*@}
    if ! echo "$digest" | grep -qE '^sha256:[0-9a-f]{64}$'; then
        echo "$image: name the image by its digest" >&2
        exit 2
    fi
    # shellcheck disable=SC2086  # these are several words
    "${COSIGN:-cosign}" verify ${COSIGN_OPTIONS:?"says whose signature counts"} "$image" >/dev/null
    if ! grep -q "^ *, '$digest'\$" "$policy"; then
        awk -v line="      , '$digest'" '/^ *]$/ && !added {print line; added = 1} {print} END {exit !added}' "$policy" >"$policy.new" || {
            rm -f "$policy.new"
            echo "$policy: no line that ends the list of digests" >&2
            exit 1
        }
        cat "$policy.new" >"$policy"
        rm "$policy.new"
    fi
    echo "$image: verified"
done
