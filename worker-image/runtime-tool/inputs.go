package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

const fetchUsage = "usage: torpor-tool fetch [--credentials FOLDER]\n"

// runFetch writes the inputs of a task, in an init container. A restarted container begins again.
func runFetch(args []string, stderr io.Writer) error {
	folder := credentials
	if len(args) == 2 && args[0] == "--credentials" {
		folder, args = args[1], nil
	}
	if len(args) != 0 {
		return failure(exitUsage, "%s", fetchUsage)
	}
	spec, err := parseFiles(os.Getenv)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryLimit)
	syscall.Umask(0) // the program may have another user than this container
	for _, input := range spec.In {
		if err := os.RemoveAll(input.Target); err != nil {
			return failure(exitCannotCreate, "cannot remove %s: %s", input.Target, err)
		}
		if err := os.MkdirAll(filepath.Dir(input.Target), 0o777); err != nil {
			return failure(exitCannotCreate, "cannot create the folder of %s: %s", input.Target, err)
		}
		began := time.Now()
		size, err := fetchInput(input, folder, stderr)
		if err != nil {
			return inFile("input", input.Name, err)
		}
		reportTransfer(stderr, "fetched", input.Name, size, began)
	}
	return nil
}

// fetchInput writes an input and returns how many bytes arrived.
func fetchInput(input inputSpec, credentials string, stderr io.Writer) (int64, error) {
	limit := &budget{bytes: unpackedMax, entries: entriesMax}
	if input.Text != nil {
		return int64(len(*input.Text)), writeStream(strings.NewReader(*input.Text), input.Target, limit)
	}
	if len(input.Origins) == 0 {
		return fetchSource(input, limit, stderr)
	}
	return fetchOrigins(input, credentials, limit, stderr)
}

// fetchSource writes what comes from outside of the cluster, within a time.
func fetchSource(input inputSpec, limit *budget, stderr io.Writer) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sourceLimit)
	defer cancel()
	left := limit.bytes
	switch {
	case input.HTTP != nil:
		err := fetchHTTP(ctx, *input.HTTP, input.Target, limit)
		return left - limit.bytes, err
	case input.Object != nil:
		err := fetchObject(ctx, *input.Object, input.Target, limit)
		return left - limit.bytes, err
	case input.Git != nil:
		commit, err := fetchGit(ctx, *input.Git, input.Target, limit)
		if err == nil {
			fmt.Fprintf(stderr, "torpor-tool: %s is the commit %s\n", input.Name, commit)
		}
		return left - limit.bytes, err
	default:
		return 0, failure(exitConfiguration, "it has no source")
	}
}

func fetchOrigins(input inputSpec, credentials string, limit *budget, stderr io.Writer) (int64, error) {
	size := int64(0)
	for _, origin := range input.Origins {
		size += origin.Size
	}
	return size, writeOrigins(input, credentials, limit, stderr)
}

func writeOrigins(input inputSpec, credentials string, limit *budget, stderr io.Writer) error {
	from, err := newArchive(os.Getenv, credentials)
	if err != nil {
		return err
	}
	if from == nil {
		return failure(exitConfiguration, "there is no archive")
	}
	if len(input.Origins) == 1 && input.Origins[0].Entry == "" {
		return fetchOrigin(from, input.Origins[0], input.Target, limit, stderr)
	}
	if err := os.Mkdir(input.Target, 0o777); err != nil {
		return failure(exitCannotCreate, "cannot create %s: %s", input.Target, err)
	}
	for _, origin := range input.Origins {
		if origin.Entry == "" || origin.Entry != filepath.Base(origin.Entry) || origin.Entry[0] == '.' {
			return failure(exitConfiguration, "%q is not the name of an entry", origin.Entry)
		}
		if err := fetchOrigin(from, origin, filepath.Join(input.Target, origin.Entry), limit, stderr); err != nil {
			return err
		}
	}
	return nil
}

// fetchOrigin writes an output of another task. What the archive sends must have the digest of its TaskRun.
func fetchOrigin(from *archive, origin originSpec, target string, limit *budget, stderr io.Writer) error {
	body := from.open(origin, stderr)
	defer body.Close()
	base, isGzip := strings.CutSuffix(origin.Kind, gzipped)
	unpacked, err := decompressed(body, isGzip)
	if err == nil && base == kindFolder {
		err = unpack(unpacked, target, limit)
	} else if err == nil {
		err = writeStream(unpacked, target, limit)
	}
	if err != nil {
		return err
	}
	return body.verify()
}
