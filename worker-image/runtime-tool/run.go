package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Exit codes of a program that cannot be started, as in a shell.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// stdoutMax is how much of the standard output becomes the result. It is held in memory until the program ends.
const stdoutMax = 1 << 20

// hidden are the variables of the wrapper. The program does not get them: a program that prints its environment would
// otherwise tell the nonce of its pod to whoever reads its log (ADR 0060).
var hidden = []string{
	"TORPOR_OUTCOME", "TORPOR_OUTCOME_MAX", "TORPOR_OUTCOME_NONCE", "TORPOR_PROTOCOL", "TORPOR_ARCHIVE_URL",
	"TORPOR_ARCHIVE_CA", "TORPOR_STEP", filesVariable,
}

const runUsage = `usage: torpor-tool run [options] -- COMMAND [ARGUMENT...]

Runs COMMAND, passes signals on to it, and ends with its exit code. After exit code 0 it stores the result of the task:
the standard output, or a file. A text that is valid JSON is that value, any other text is a string.
`

type runOptions struct {
	put     putOptions
	stdout  bool
	file    string
	command []string
}

func parseRun(args []string, stderr io.Writer) (runOptions, error) {
	options := runOptions{put: putOptions{limit: retryLimit}}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller prints the error
	flags.Usage = func() {}
	flags.BoolVar(&options.stdout, "stdout", false, "the standard output is the result; it is also written to the log")
	flags.StringVar(&options.file, "file", "", "the content of this `file` is the result")
	flags.StringVar(&options.put.credentials, "credentials", credentials, "folder with the `archive-token`")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, runUsage)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return options, err
	}
	if err != nil {
		return options, failure(exitUsage, "%s", err)
	}
	options.command = flags.Args()
	if len(options.command) == 0 {
		return options, failure(exitUsage, "run needs a COMMAND after its options: the entrypoint of the image is not known in the pod")
	}
	if options.stdout && options.file != "" {
		return options, failure(exitUsage, "the result is the standard output or a file, not both")
	}
	return options, nil
}

// runRun runs a program and returns its exit code, or the error that replaces it.
func runRun(args []string, stdout, stderr io.Writer) (int, error) {
	options, err := parseRun(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDone, nil
	}
	if err != nil {
		return exitUsage, err
	}
	var output *recorder
	if options.stdout {
		output = &recorder{to: stdout, limit: stdoutMax}
	}
	files, err := parseFiles(os.Getenv)
	if err != nil {
		return exitUsage, err
	}
	own := os.Environ()
	if !files.Outcome {
		own = programEnvironment(own)
	}
	code, err := supervise(options.command, own, output)
	if err != nil || code != exitDone {
		return code, err
	}
	if files.Outcome && endsOtherwise() {
		return exitDone, nil
	}
	if outputs, err = storeFiles(files, options, stderr); err != nil {
		return code, err
	}
	if output != nil || options.file != "" {
		return exitDone, report(options, output, stderr)
	}
	return exitDone, reportMessage()
}

// programEnvironment returns the environment of the program.
func programEnvironment(own []string) []string {
	kept := make([]string, 0, len(own))
	for _, entry := range own {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(hidden, name) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// endsOtherwise reports whether the program wrote a document by which it defers, skips or fails: it has no outputs then.
func endsOtherwise() bool {
	message, err := os.ReadFile(outcomePath())
	if err != nil {
		return false
	}
	var document map[string]json.RawMessage
	if json.Unmarshal(message, &document) != nil || document["torpor"] == nil {
		return false
	}
	return document["defer"] != nil || document["skip"] != nil || document["fail"] != nil
}

func outcomePath() string {
	if path := os.Getenv("TORPOR_OUTCOME"); path != "" {
		return path
	}
	return terminations
}

// storeFiles stores the outputs; nil if the task has none.
func storeFiles(files filesSpec, options runOptions, stderr io.Writer) ([]storedFile, error) {
	if len(files.Out) == 0 {
		return nil, nil
	}
	return storeOutputs(files, options.put.credentials, stderr)
}

// reportMessage adds the outputs to what the program itself wrote as its outcome.
func reportMessage() error {
	if outputs == nil {
		return nil
	}
	message, err := os.ReadFile(outcomePath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return failure(exitNoInput, "cannot read the outcome of the program: %s", err)
	}
	text, err := quoted(string(bytes.ToValidUTF8(message, []byte("\uFFFD"))))
	if err != nil {
		return err
	}
	if size, most := len(frame(os.Getenv, "message", text)), outcomeLimit(os.Getenv); size > most {
		return failure(exitContent, "the result of the program and the descriptions of its %d outputs have %d bytes, and a termination message at most %d: write a shorter result", len(outputs), size, most)
	}
	return writeOutcome(os.Getenv, "message", json.RawMessage(text))
}

// report stores the result. A result that can never be stored fails the task without a retry: its work is done.
func report(options runOptions, output *recorder, stderr io.Writer) error {
	err := storeResult(options, output, stderr)
	var known *toolError
	if !errors.As(err, &known) || (known.code != exitContent && known.code != exitNoInput) {
		return err
	}
	fmt.Fprintf(stderr, "torpor-tool: %s\n", known)
	return writeFailure(os.Getenv, known.message)
}

func storeResult(options runOptions, output *recorder, stderr io.Writer) error {
	value, err := resultOf(options, output)
	if err != nil {
		return err
	}
	if value.open == nil {
		return writeOutcome(os.Getenv, "result", nil)
	}
	return store(options.put, value, stderr)
}

// resultOf returns the result as content; without `open` for an empty text.
func resultOf(options runOptions, output *recorder) (content, error) {
	if options.file != "" {
		return fileResult(options.file)
	}
	if output.exceeded {
		return content{}, failure(exitContent,
			"the standard output has more than %d bytes, too many for a result: write the result to a file, and set result.path of the container", stdoutMax)
	}
	return textResult("the standard output", int64(len(output.held)), func() (io.ReadSeekCloser, error) {
		return nopCloser{bytes.NewReader(output.held)}, nil
	})
}

func fileResult(path string) (content, error) {
	about, err := os.Stat(path)
	if err != nil {
		return content{}, failure(exitNoInput, "the program wrote no result: cannot read %s: %s", path, err)
	}
	if !about.Mode().IsRegular() {
		return content{}, failure(exitNoInput, "the result %s is not a regular file", path)
	}
	return textResult(path, about.Size(), func() (io.ReadSeekCloser, error) { return os.Open(path) })
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

// textResult returns text without the line breaks at its end: as a JSON value if it is valid JSON, else as a string.
func textResult(name string, size int64, open func() (io.ReadSeekCloser, error)) (content, error) {
	length, err := trimmedLength(name, size, open)
	if err != nil || length == 0 {
		return content{name: name}, err
	}
	value := content{name: name, open: func() (io.ReadCloser, error) {
		file, err := open()
		if err != nil {
			return nil, err
		}
		return readCloser{io.LimitReader(file, length), file}, nil
	}}
	value.text = !value.isJSON()
	return value, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// trimmedLength returns the length of a text without the line breaks at its end, as `$(...)` of a shell removes them.
func trimmedLength(name string, size int64, open func() (io.ReadSeekCloser, error)) (int64, error) {
	file, err := open()
	if err != nil {
		return 0, failure(exitNoInput, "cannot read %s: %s", name, err)
	}
	defer file.Close()
	for last := make([]byte, 1); size > 0; size-- {
		if _, err := file.Seek(size-1, io.SeekStart); err != nil {
			return 0, failure(exitNoInput, "cannot read %s: %s", name, err)
		}
		if _, err := io.ReadFull(file, last); err != nil {
			return 0, failure(exitNoInput, "cannot read %s: %s", name, err)
		}
		if last[0] != '\n' && last[0] != '\r' {
			break
		}
	}
	return size, nil
}

// isJSON reports whether the content is one JSON value.
func (c content) isJSON() bool {
	kind, _, err := c.kind()
	return err == nil && c.each(kind, func(_, _ []byte) error { return nil }) == nil
}

// recorder passes output on and keeps its first bytes.
type recorder struct {
	to       io.Writer
	held     []byte
	limit    int
	exceeded bool
}

func (r *recorder) Write(more []byte) (int, error) {
	if room := r.limit - len(r.held); len(more) > room {
		r.exceeded = true
		r.held = append(r.held, more[:room]...)
	} else {
		r.held = append(r.held, more...)
	}
	_, _ = r.to.Write(more) // a log that cannot be written does not stop the program
	return len(more), nil
}
