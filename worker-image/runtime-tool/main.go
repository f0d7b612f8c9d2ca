// torpor-tool is the helper in the image torpor-runtime: it copies the runtime folder into a pod, fetches the input files
// of a task, runs programs whose output or files are stored, and stores large results in the archive. It is one static
// binary, because the images of tasks may have no shell and no libraries.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Exit codes, as in sysexits.h. Scripts of users depend on them.
const (
	exitDone          = 0
	exitUsage         = 64
	exitContent       = 65 // the content is invalid, or the archive rejects it
	exitNoInput       = 66 // the file cannot be read
	exitUnavailable   = 69 // the archive is unavailable or has no room
	exitCannotCreate  = 73 // the outcome or the copy cannot be written
	exitNoPermission  = 77 // the archive rejects this pod
	exitConfiguration = 78 // this pod has no archive
)

const usage = `usage:
  torpor-tool copy DEST                  copy the runtime folder to DEST
  torpor-tool fetch                      write the input files of this task, in its init container
  torpor-tool run [options] -- COMMAND   run COMMAND; its standard output or a file becomes the result of this task
  torpor-tool put [options] FILE         make FILE the result of this task; - is standard input

Run "torpor-tool put --help" or "torpor-tool run --help" for the options.
`

// toolError is an error with the exit code of the process.
type toolError struct {
	code    int
	message string
}

func (e *toolError) Error() string { return e.message }

func failure(code int, format string, values ...any) error {
	return &toolError{code, fmt.Sprintf(format, values...)}
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one verb and returns the exit code. An error is one line on stderr, which the kubelet reports.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	var err error
	done := exitDone
	switch verb := args[0]; verb {
	case "copy":
		err = runCopy(args[1:])
	case "put":
		err = runPut(args[1:], stdin, stderr)
	case "fetch":
		err = runFetch(args[1:], stderr)
	case "run":
		done, err = runRun(args[1:], stdout, stderr)
	case "help", "-h", "--help":
		fmt.Fprint(stderr, usage)
		return exitDone
	default:
		err = failure(exitUsage, "unknown verb %q; use copy, fetch, run or put", verb)
	}
	if err == nil {
		return done
	}
	fmt.Fprintf(stderr, "torpor-tool: %s\n", err)
	var known *toolError
	if errors.As(err, &known) {
		return known.code
	}
	return 1
}
