package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// sentFile is what the archive has stored.
type sentFile struct {
	size   int64
	digest string
}

// transferError is a failure of the connection or of the archive, which a retry may mend.
type transferError struct{ cause error }

func (e *transferError) Error() string { return e.cause.Error() }
func (e *transferError) Unwrap() error { return e.cause }

// store sends a file to the object store of the archive, else to the archive.
func (a *archive) store(name, kind string, write func(io.Writer) error, stderr io.Writer) (sentFile, error) {
	upload := newPartUpload(a, name, kind, stderr)
	err := write(upload)
	if errors.Is(err, errNoObjectStore) {
		upload = nil
		return a.storeBody(name, kind, write, stderr)
	}
	if err != nil {
		return sentFile{}, err
	}
	return upload.finish()
}

// storeBody sends a file to the archive, repeatedly while that may help: a file is named by its digest.
func (a *archive) storeBody(name, kind string, write func(io.Writer) error, stderr io.Writer) (sentFile, error) {
	target := fmt.Sprintf("%s/files/%s", a.taskrun, url.PathEscape(name))
	var sent sentFile
	err := repeat("store the file", stderr, func() (bool, error) {
		response, err := a.put(target, kind, octets, write)
		if err != nil {
			return false, err
		}
		if err := refusal(response, "the file"); err != nil {
			return false, err
		}
		var found struct {
			Size   int64
			Digest string
		}
		if err := json.Unmarshal(response.body, &found); err != nil {
			return false, fmt.Errorf("the archive responded without a description: %w", err)
		}
		if found.Size != response.size || found.Digest != response.digest {
			return false, fmt.Errorf("the archive stored another file than the %d bytes sent", response.size)
		}
		sent = sentFile{found.Size, found.Digest}
		return true, nil
	})
	return sent, err
}

// repeat calls attempt until it is done. A toolError is final. Progress, which attempt reports, renews the limit.
func repeat(what string, stderr io.Writer, attempt func() (progress bool, err error)) error {
	end, pause, reported := time.Now().Add(retryLimit), firstPause, false
	for {
		progress, err := attempt()
		var known *toolError
		var last *finalError
		if err == nil || errors.As(err, &known) || errors.As(err, &last) {
			return err
		}
		if progress {
			end, pause = time.Now().Add(retryLimit), firstPause
		}
		left := time.Until(end)
		if left <= 0 {
			return failure(exitUnavailable, "cannot %s after %s of retries: %s", what, retryLimit, oneLine(err))
		}
		if !reported {
			reported = true
			fmt.Fprintf(stderr, "torpor-tool: cannot %s yet; retrying for %s: %s\n", what, retryLimit, oneLine(err))
		}
		time.Sleep(min(pause/2+time.Duration(rand.Int64N(int64(pause/2))), left))
		pause = min(2*pause, longestPause)
	}
}

// fileBody is a file of the archive as a stream. A broken connection is resumed at the byte where it broke.
type fileBody struct {
	from   *archive
	origin originSpec
	stderr io.Writer
	digest hash.Hash
	at     int64
	link   io.ReadCloser
}

func (a *archive) open(origin originSpec, stderr io.Writer) *fileBody {
	return &fileBody{from: a, origin: origin, stderr: stderr, digest: sha256.New()}
}

func (b *fileBody) Close() {
	if b.link != nil {
		b.link.Close()
		b.link = nil
	}
}

func (b *fileBody) Read(into []byte) (int, error) {
	if b.at == b.origin.Size {
		return 0, io.EOF
	}
	count := 0
	err := repeat("fetch the file", b.stderr, func() (bool, error) {
		read, err := b.next(into[:min(int64(len(into)), b.origin.Size-b.at)])
		if count = read; read > 0 {
			return true, nil
		}
		b.Close()
		if err == nil || errors.Is(err, io.EOF) {
			err = errors.New("the archive closed the connection early")
		}
		return false, err
	})
	if err != nil {
		return 0, &transferError{err}
	}
	b.at += int64(count)
	b.digest.Write(into[:count])
	return count, nil
}

// next reads from the connection, which it opens first if there is none, or if it is at the end of its URLs.
func (b *fileBody) next(into []byte) (int, error) {
	for range 2 {
		if b.link == nil {
			link, err := b.from.get(b.origin, b.at)
			if err != nil {
				return 0, err
			}
			b.link = link
		}
		read, err := b.link.Read(into)
		if read > 0 || !errors.Is(err, errBatchEnd) {
			return read, err
		}
		b.Close()
	}
	return 0, errors.New("the archive responded without URLs")
}

// verify compares the digest of the whole file with that on the TaskRun of its producer.
func (b *fileBody) verify() error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	if got := hex.EncodeToString(b.digest.Sum(nil)); got != b.origin.Digest {
		return failure(exitContent, "the file %s has the digest %.12s instead of %.12s", b.origin.Name, got, b.origin.Digest)
	}
	return nil
}

// get requests a file from a byte on.
func (a *archive) get(origin originSpec, offset int64) (io.ReadCloser, error) {
	path := fmt.Sprintf("/v1/namespaces/%s/files/%s/%s/%s", url.PathEscape(a.namespace),
		url.PathEscape(origin.TaskRun), url.PathEscape(origin.Name), url.PathEscape(origin.Digest))
	token, err := os.ReadFile(a.token)
	if err != nil {
		return nil, failure(exitConfiguration, "this pod has no token for the archive: %s", err)
	}
	link, err := a.connect()
	if err != nil {
		return nil, err
	}
	request := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: fmt.Sprintf("offset=%d", offset)}, Host: a.address.Host,
		Header: http.Header{
			"Authorization": {"Bearer " + strings.TrimSpace(string(token))}, "Torpor-Taskrun": {a.name}, "User-Agent": {"torpor-tool"},
			"Accept": {partsType},
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true,
	}
	if err := request.Write(link); err != nil {
		link.Close()
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(link, 64*1024), request)
	if err != nil {
		link.Close()
		return nil, err
	}
	if response.StatusCode == http.StatusOK && strings.HasPrefix(response.Header.Get("Content-Type"), partsType) {
		defer link.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
		if err != nil {
			return nil, err
		}
		return newPartDownload(body, offset)
	}
	if response.StatusCode == http.StatusOK {
		return &linkBody{response.Body, link}, nil
	}
	defer link.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, answerMax))
	return nil, refusal(&answer{status: response.StatusCode, body: body}, "the file")
}

// linkBody closes the connection with the body.
type linkBody struct {
	io.Reader
	link net.Conn
}

func (b *linkBody) Close() error { return b.link.Close() }

// refusal returns nil for a success, a toolError for what no retry mends, and another error for the rest.
func refusal(response *answer, what string) error {
	switch message := response.message(); {
	case response.status >= 200 && response.status < 300:
		return nil
	case response.status == http.StatusBadRequest || response.status == http.StatusRequestEntityTooLarge:
		return failure(exitContent, "the archive rejects %s: %s", what, message)
	case response.status == http.StatusInsufficientStorage || response.status == http.StatusNotFound:
		return failure(exitUnavailable, "the archive cannot handle %s: %s", what, message)
	case temporary(response.status, message):
		return errors.New(message)
	case response.status == http.StatusForbidden:
		return failure(exitNoPermission, "the archive rejects this pod: %s", message)
	default:
		return failure(exitUnavailable, "the archive cannot handle %s: %s", what, message)
	}
}
