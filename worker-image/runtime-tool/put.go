package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	outcomeMax    = 4095 // the kubelet cuts a termination message at 4,096 bytes, or at the share of its container
	protocol      = 1
	credentials   = "/var/run/secrets/torpor.dev" // torpor_wire.constants.CREDENTIALS
	terminations  = "/dev/termination-log"
	retryLimit    = 5 * time.Minute
	noRoleMessage = "cannot get resource" // of an API server that has not loaded its roles yet
)

const putUsage = `usage: torpor-tool put [options] FILE

Makes the JSON in FILE the result of this task. A small result is written to TORPOR_OUTCOME, a larger one to the archive.
- is standard input. What is no regular file is held in memory.
`

// The pauses between uploads: the first, which doubles, and the longest. Tests shorten them.
var firstPause, longestPause = 200 * time.Millisecond, 10 * time.Second

type putOptions struct {
	file        string
	text        bool
	credentials string
	limit       time.Duration
}

func parsePut(args []string, stderr io.Writer) (putOptions, error) {
	var options putOptions
	flags := flag.NewFlagSet("put", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.Usage = func() {}
	flags.BoolVar(&options.text, "text", false, "the result is a string with the content of FILE")
	flags.DurationVar(&options.limit, "timeout", retryLimit, "how long to retry while the archive is unavailable")
	flags.StringVar(&options.credentials, "credentials", credentials, "folder with the `archive-token`")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, putUsage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return options, err
	}
	if err != nil {
		return options, failure(exitUsage, "%s", err)
	}
	if flags.NArg() != 1 {
		return options, failure(exitUsage, "put needs one FILE after its options, or - for standard input")
	}
	options.file = flags.Arg(0)
	return options, nil
}

func runPut(args []string, stdin io.Reader, stderr io.Writer) error {
	options, err := parsePut(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	value, err := contentOf(options, stdin)
	if err != nil {
		return err
	}
	return store(options, value, stderr)
}

// store makes a value the result of the task: in the outcome if it fits, else in the archive.
func store(options putOptions, value content, stderr io.Writer) error {
	most := outcomeLimit(os.Getenv)
	document, err := value.inline(max(most-len(frame(os.Getenv, "result", nil)), 0))
	if err == nil {
		return writeOutcome(os.Getenv, "result", json.RawMessage(document))
	}
	if !errors.Is(err, errTooLarge) {
		return err
	}
	to, err := newArchive(os.Getenv, options.credentials)
	if err != nil {
		return err
	}
	if to == nil {
		return failure(exitConfiguration, "the result does not fit into %d bytes, and there is no archive for it: install the archive, or store the result elsewhere and return its location", most)
	}
	stored, err := upload(to, value, options.limit, stderr)
	if err != nil {
		return err
	}
	return writeArchived(os.Getenv, stored)
}

// contentOf returns the content of a file. A pipe can be read once and is therefore kept.
func contentOf(options putOptions, stdin io.Reader) (content, error) {
	value := content{name: options.file, text: options.text}
	if options.file == "-" {
		value.name = "standard input"
	} else {
		about, err := os.Stat(options.file)
		if err != nil {
			return value, failure(exitNoInput, "cannot read %s: %s", options.file, err)
		}
		if about.Mode().IsRegular() {
			value.open = func() (io.ReadCloser, error) { return os.Open(options.file) }
			return value, nil
		}
		file, err := os.Open(options.file)
		if err != nil {
			return value, failure(exitNoInput, "cannot read %s: %s", options.file, err)
		}
		defer file.Close()
		stdin = file
	}
	all, err := io.ReadAll(stdin)
	if err != nil {
		return value, failure(exitNoInput, "cannot read %s: %s", value.name, err)
	}
	value.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(all)), nil }
	return value, nil
}

// upload stores the value in the archive. It retries, because hours of work may depend on it: a body is named by its
// digest, so a repeated upload is stored once.
func upload(to *archive, value content, limit time.Duration, stderr io.Writer) (map[string]any, error) {
	kind, mediaType, err := value.kind()
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(limit)
	reported := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		stored, err := attempt(to, value, kind, mediaType)
		var known *toolError
		if err == nil || errors.As(err, &known) {
			return stored, err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, failure(exitUnavailable, "the result is not in the archive after %s of retries: %s", limit, oneLine(err))
		}
		if !reported {
			reported = true
			fmt.Fprintf(stderr, "torpor-tool: the archive does not store the result yet; retrying for %s: %s\n", limit, oneLine(err))
		}
		// From half to the whole, so that the pods of a cluster do not retry at the same time.
		time.Sleep(min(pause/2+time.Duration(rand.Int64N(int64(pause/2))), left))
	}
}

// attempt sends the body once. A toolError is final; any other error may be temporary.
func attempt(to *archive, value content, kind, mediaType string) (map[string]any, error) {
	response, err := to.put(to.resultPath(), kind, mediaType, func(into io.Writer) error { return value.body(kind, into) })
	if err != nil {
		return nil, err
	}
	switch message := response.message(); {
	case response.status >= 200 && response.status < 300:
		return response.description()
	case response.status == http.StatusBadRequest || response.status == http.StatusRequestEntityTooLarge:
		return nil, failure(exitContent, "the archive rejects the result: %s", message)
	case response.status == http.StatusInsufficientStorage: // a quota does not change within minutes
		return nil, failure(exitUnavailable, "the archive does not store the result: %s", message)
	case temporary(response.status, message):
		return nil, errors.New(message)
	case response.status == http.StatusForbidden:
		return nil, failure(exitNoPermission, "the archive rejects this pod: %s", message)
	default:
		return nil, failure(exitUnavailable, "the archive does not store the result: %s", message)
	}
}

func temporary(status int, message string) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return strings.Contains(message, noRoleMessage)
	default:
		return status >= 500
	}
}

func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// writeArchived writes the outcome of an upload. Keys that do not fit are left out: such an object can be read, and
// not mapped over.
func writeArchived(environment func(string) string, stored map[string]any) error {
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	if len(text)+len(frame(environment, "archived", nil)) > outcomeLimit(environment) {
		delete(stored, "keys")
	}
	return writeOutcome(environment, "archived", stored)
}

// writeOutcome replaces the outcome of the container. The kubelet mounts the file, so it cannot be renamed.
func writeOutcome(environment func(string) string, key string, value any) error {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	path := environment("TORPOR_OUTCOME")
	if path == "" {
		path = terminations
	}
	if err := os.WriteFile(path, frame(environment, key, bytes.TrimSpace(document.Bytes())), 0o644); err != nil {
		return failure(exitCannotCreate, "cannot write the outcome: %s", err)
	}
	return nil
}

// outcomeLimit returns how many bytes the outcome may have: the kubelet divides 12 kB among the containers of a pod.
func outcomeLimit(environment func(string) string) int {
	share, err := strconv.Atoi(environment("TORPOR_OUTCOME_MAX"))
	if err != nil || share < 0 {
		return outcomeMax
	}
	return min(share, outcomeMax)
}

// writeFailure writes the outcome of a result that can never be stored. A long message loses its end.
func writeFailure(environment func(string) string, message string) error {
	failed := func() map[string]any { return map[string]any{"message": message, "retryable": false} }
	for {
		document, err := json.Marshal(failed())
		if err != nil || len(document)+len(frame(environment, "fail", nil)) <= outcomeLimit(environment) || message == "" {
			return writeOutcome(environment, "fail", failed())
		}
		message = strings.ToValidUTF8(message[:len(message)/2], "")
	}
}

// outputs are the stored outputs of the program, which each document of this process has.
var outputs []storedFile

// frame returns a document. The nonce of the pod tells it from data, which anybody may have written.
func frame(environment func(string) string, key string, value []byte) []byte {
	nonce, _ := json.Marshal(environment("TORPOR_OUTCOME_NONCE"))
	return fmt.Appendf(nil, `{"torpor":%d,"nonce":%s%s,"%s":%s}`, protocol, nonce, filesFrame(outputs), key, value)
}
