// Counts to three and waits before each step but the first. Standard library only.
//
// Arguments are environment variables: mode and message choose another end, wait is the length of a wait.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

const target = 3

type outcome struct {
	Torpor int       `json:"torpor"`
	Nonce  string    `json:"nonce"`
	Result any       `json:"result,omitempty"`
	Defer  *deferral `json:"defer,omitempty"`
	Fail   *failure  `json:"fail,omitempty"`
	Skip   *skip     `json:"skip,omitempty"`
}

type deferral struct {
	Trigger   trigger `json:"trigger"`
	State     int     `json:"state"`
	Timeout   string  `json:"timeout"`
	OnTimeout string  `json:"onTimeout"`
}

type trigger struct {
	Class  string         `json:"class"`
	Kwargs map[string]any `json:"kwargs"`
}

type failure struct {
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

type skip struct {
	Message string `json:"message"`
}

// next returns the outcome of this segment.
func next() (outcome, error) {
	message := os.Getenv("message")
	if version := os.Getenv("TORPOR_PROTOCOL"); version != "1" {
		return outcome{Fail: &failure{Message: fmt.Sprintf("protocol %s is not supported", version)}}, nil
	}
	switch os.Getenv("mode") {
	case "fail":
		return outcome{Fail: &failure{Message: message, Retryable: true}}, nil
	case "fail_final":
		return outcome{Fail: &failure{Message: message}}, nil
	case "skip":
		return outcome{Skip: &skip{Message: message}}, nil
	case "crash":
		os.Exit(3)
	}
	return step()
}

// step returns the next wait, or the result.
func step() (outcome, error) {
	count := 0
	if state, resumed := os.LookupEnv("TORPOR_STATE"); resumed {
		if err := json.Unmarshal([]byte(state), &count); err != nil {
			return outcome{}, err
		}
	}
	if os.Getenv("TORPOR_TIMED_OUT") == "true" {
		return outcome{Result: map[string]any{"count": count, "timed_out": true}}, nil
	}
	count++
	if count < target {
		wait := os.Getenv("wait")
		if wait == "" {
			wait = "1s"
		}
		duration := trigger{Class: "duration", Kwargs: map[string]any{"duration": wait}}
		return outcome{Defer: &deferral{Trigger: duration, State: count, Timeout: "1h", OnTimeout: "resume"}}, nil
	}
	event := json.RawMessage(os.Getenv("TORPOR_EVENT"))
	return outcome{Result: map[string]any{"count": count, "event": event}}, nil
}

func main() {
	found, err := next()
	if err != nil {
		log.Fatal(err)
	}
	found.Torpor, found.Nonce = 1, os.Getenv("TORPOR_OUTCOME_NONCE")
	document, err := json.Marshal(found)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("TORPOR_OUTCOME"), document, 0o644); err != nil {
		log.Fatal(err)
	}
}
