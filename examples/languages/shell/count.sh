#!/bin/sh
# Counts to three and waits before each step but the first. POSIX sh, with tr and sed.
#
# Arguments are environment variables: `mode` and `message` choose another end, `wait` is the length of a wait.
set -e

if [ -z "$TORPOR_OUTCOME_NONCE" ]; then
    echo "this program needs container.outcome: true" >&2
    exit 64
fi

# Takes the members of the document. The nonce tells it from data that the program might print.
outcome() {
    printf '{"torpor":1,"nonce":"%s",%s}\n' "$TORPOR_OUTCOME_NONCE" "$1" > "$TORPOR_OUTCOME"
    exit 0
}

# Prints its argument as a JSON string; control characters become spaces.
string() {
    printf '"%s"' "$(printf '%s' "$1" | tr '\001-\037' ' ' | sed 's/[\\"]/\\&/g')"
}

if [ "$TORPOR_PROTOCOL" != 1 ]; then
    outcome '"fail":{"message":"protocol '"$TORPOR_PROTOCOL"' is not supported","retryable":false}'
fi

case "$mode" in
    fail) outcome '"fail":{"message":'"$(string "$message")"'}' ;;
    fail_final) outcome '"fail":{"message":'"$(string "$message")"',"retryable":false}' ;;
    skip) outcome '"skip":{"message":'"$(string "$message")"'}' ;;
    crash) echo "as the argument mode demands" >&2; exit 3 ;;
esac

state=$TORPOR_STATE # unset in the first segment
if [ "$TORPOR_TIMED_OUT" = true ]; then
    outcome '"result":{"count":'"$state"',"timed_out":true}'
fi

count=$((state + 1))
if [ "$count" -lt 3 ]; then
    [ -n "$wait" ] || wait=1s
    trigger='{"class":"duration","kwargs":{"duration":'"$(string "$wait")"'}}'
    outcome '"defer":{"trigger":'"$trigger"',"state":'"$count"',"timeout":"1h","onTimeout":"resume"}'
fi
outcome '"result":{"count":'"$count"',"event":'"$TORPOR_EVENT"'}'
