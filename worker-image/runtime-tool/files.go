package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"
)

const (
	filesVariable = "TORPOR_FILES" // torpor_wire.constants.ENV_FILES
	unpackedMax   = 10 << 30       // bytes of one input on the disk
	entriesMax    = 100_000        // entries of one folder
	kindFile      = "file"
	kindFolder    = "folder"
	gzipped       = "+gzip"
)

// filesSpec is the value of TORPOR_FILES: the inputs of an init container, or the outputs of a wrapper.
type filesSpec struct {
	In      []inputSpec  `json:"in"`
	Out     []outputSpec `json:"out"`
	Outcome bool         `json:"outcome"` // whether the program may write outcome documents itself
}

type inputSpec struct {
	Name    string       `json:"name"`
	Target  string       `json:"target"`
	Origins []originSpec `json:"origins"`
	Text    *string      `json:"text"`
	HTTP    *httpSpec    `json:"http"`
	Object  *objectSpec  `json:"object"`
	Git     *gitSpec     `json:"git"`
}

type originSpec struct {
	TaskRun string `json:"taskrun"`
	Name    string `json:"name"`
	Digest  string `json:"digest"`
	Size    int64  `json:"size"`
	Kind    string `json:"kind"`
	Entry   string `json:"entry"`
}

type httpSpec struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

type outputSpec struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Optional bool   `json:"optional"`
	Compress string `json:"compress"`
}

// storedFile is the description of an output, for the TaskRun.
type storedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
	Kind   string `json:"kind"`
}

func parseFiles(environment func(string) string) (filesSpec, error) {
	var spec filesSpec
	text := environment(filesVariable)
	if text == "" {
		return spec, nil
	}
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return spec, failure(exitConfiguration, "%s is not valid: %s", filesVariable, err)
	}
	return spec, nil
}

// memoryLimit is what the garbage collector aims at while files are transferred: the task pays for this memory.
const memoryLimit = 20 << 20

// storeOutputs stores the outputs of a program that succeeded, and returns their descriptions.
func storeOutputs(spec filesSpec, credentials string, stderr io.Writer) ([]storedFile, error) {
	debug.SetMemoryLimit(memoryLimit)
	stored := []storedFile{}
	for _, output := range spec.Out {
		about, err := os.Stat(output.Path)
		if errors.Is(err, os.ErrNotExist) && output.Optional {
			continue
		}
		if err != nil {
			return nil, failure(exitNoInput, "the program did not write the output %s: %s", output.Name, err)
		}
		to, err := newArchive(os.Getenv, credentials)
		if err != nil {
			return nil, err
		}
		if to == nil {
			return nil, failure(exitConfiguration, "the output %s cannot be stored: there is no archive", output.Name)
		}
		file, err := storeOutput(to, output, about, stderr)
		if err != nil {
			return nil, err
		}
		stored = append(stored, file)
	}
	return stored, nil
}

func storeOutput(to *archive, output outputSpec, about os.FileInfo, stderr io.Writer) (storedFile, error) {
	kind, write := kindFile, func(into io.Writer) error { return copyContent(output.Path, into) }
	if about.IsDir() {
		kind, write = kindFolder, func(into io.Writer) error { return pack(output.Path, into) }
	} else if !about.Mode().IsRegular() {
		return storedFile{}, failure(exitContent, "the output %s: %s is neither a file nor a folder", output.Name, output.Path)
	}
	if output.Compress == "gzip" {
		kind, write = kind+gzipped, compressed(write)
	}
	began := time.Now()
	sent, err := to.store(output.Name, kind, write, stderr)
	if err != nil {
		return storedFile{}, inFile("output", output.Name, err)
	}
	reportTransfer(stderr, "stored", output.Name, sent.size, began)
	return storedFile{Name: output.Name, Size: sent.size, Digest: sent.digest, Kind: kind}, nil
}

func copyContent(path string, into io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return failure(exitNoInput, "cannot read %s: %s", path, err)
	}
	defer file.Close()
	if _, err := io.Copy(into, onlyReader{file}); err != nil {
		return readOrWrite(path, err)
	}
	return nil
}

// onlyReader hides other methods of a file, by which io.Copy would use other buffers than its own.
type onlyReader struct{ io.Reader }

// readOrWrite makes an error of reading a file final. The error of the connection stays as it is, to be retried.
func readOrWrite(path string, err error) error {
	var known *os.PathError
	if errors.As(err, &known) {
		return failure(exitNoInput, "cannot read %s: %s", path, err)
	}
	return err
}

func inFile(what, name string, err error) error {
	var known *toolError
	if errors.As(err, &known) {
		return failure(known.code, "the %s %s: %s", what, name, known.message)
	}
	return failure(exitUnavailable, "the %s %s: %s", what, name, err)
}

// reportTransfer tells how long a file took, and the most memory that this process has held.
func reportTransfer(stderr io.Writer, verb, name string, size int64, began time.Time) {
	fmt.Fprintf(stderr, "torpor-tool: %s %s: %d bytes in %.2f s, %d kB of memory\n", verb, name, size, time.Since(began).Seconds(), peakMemory())
}

func peakMemory() int64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Maxrss
}

func filesFrame(files []storedFile) []byte {
	if files == nil {
		return nil
	}
	text, _ := json.Marshal(files)
	return fmt.Appendf(nil, `,"files":%s`, text)
}
