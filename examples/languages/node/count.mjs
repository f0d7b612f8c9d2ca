// Counts to three and waits before each step but the first. Node.js without dependencies.
//
// Arguments are environment variables: `mode` and `message` choose another end, `wait` is the length of a wait.
import { writeFileSync } from "node:fs";

const { env } = process;

function outcome() {
  if (env.TORPOR_PROTOCOL !== "1") {
    return { fail: { message: `protocol ${env.TORPOR_PROTOCOL} is not supported`, retryable: false } };
  }
  switch (env.mode) {
    case "fail":
      return { fail: { message: env.message } };
    case "fail_final":
      return { fail: { message: env.message, retryable: false } };
    case "skip":
      return { skip: { message: env.message } };
    case "crash":
      process.exit(3);
  }
  const state = JSON.parse(env.TORPOR_STATE ?? "0");
  if (env.TORPOR_TIMED_OUT === "true") {
    return { result: { count: state, timed_out: true } };
  }
  const count = state + 1;
  if (count < 3) {
    const trigger = { class: "duration", kwargs: { duration: env.wait ?? "1s" } };
    return { defer: { trigger, state: count, timeout: "1h", onTimeout: "resume" } };
  }
  return { result: { count, event: JSON.parse(env.TORPOR_EVENT) } };
}

writeFileSync(env.TORPOR_OUTCOME, JSON.stringify({ torpor: 1, nonce: env.TORPOR_OUTCOME_NONCE, ...outcome() }));
