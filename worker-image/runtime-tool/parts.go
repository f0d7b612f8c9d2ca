package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	partsType    = "application/vnd.torpor.parts+json" // torpor_archive.http.file_routes.PARTS
	directMax    = 1 << 20                             // a smaller file goes to the archive: a store bills each request
	partMax      = 64 << 20                            // a part that no archive asks for
	certificates = "ca-certificates.crt"               // beside this program
)

// errNoObjectStore ends an upload by parts: the archive has no object store.
var errNoObjectStore = errors.New("no object store")

// signedParts are URLs of consecutive objects of a file.
type signedParts struct {
	Upload  string            `json:"upload"`
	Part    int64             `json:"part"`
	First   int64             `json:"first"`
	URLs    []string          `json:"urls"`
	Headers map[string]string `json:"headers"`
}

func (s *signedParts) url(number int64) (string, bool) {
	index := number - s.First
	if index < 0 || index >= int64(len(s.URLs)) {
		return "", false
	}
	return s.URLs[index], true
}

// partUpload is a file on its way to the object store, or in parts to the archive: direct. It holds one part.
type partUpload struct {
	direct     bool
	to         *archive
	name, kind string
	stderr     io.Writer
	signed     *signedParts
	held       []byte
	number     int64
	size       int64
	digest     hash.Hash
	client     *http.Client
}

func newPartUpload(to *archive, name, kind string, stderr io.Writer) *partUpload {
	return &partUpload{to: to, name: name, kind: kind, stderr: stderr, digest: sha256.New()}
}

func (p *partUpload) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		if p.signed == nil && len(p.held)+len(data) > directMax {
			if err := p.sign(); err != nil {
				return 0, err
			}
		}
		room := directMax - len(p.held)
		if p.signed != nil {
			room = int(p.signed.Part) - len(p.held)
		}
		taken := min(room, len(data))
		p.held = append(p.held, data[:taken]...)
		p.digest.Write(data[:taken])
		p.size += int64(taken)
		data = data[taken:]
		if p.signed != nil && int64(len(p.held)) == p.signed.Part {
			if err := p.send(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// finish sends the rest. A small file goes to the archive.
func (p *partUpload) finish() (sentFile, error) {
	if p.signed == nil {
		return p.to.storeBody(p.name, p.kind, func(into io.Writer) error {
			_, err := into.Write(p.held)
			return err
		}, p.stderr)
	}
	if len(p.held) > 0 {
		if err := p.send(); err != nil {
			return sentFile{}, err
		}
	}
	sent := sentFile{p.size, hex.EncodeToString(p.digest.Sum(nil))}
	query := url.Values{"upload": {p.signed.Upload}, "size": {fmt.Sprint(sent.size)}, "digest": {sent.digest}}
	return sent, repeat("store the file", p.stderr, func() (bool, error) {
		response, err := p.to.call(http.MethodPost, p.path("finish"), query, nil)
		if err != nil {
			return false, err
		}
		return false, refusal(response, "the file")
	})
}

func (p *partUpload) path(verb string) string {
	return fmt.Sprintf("%s/files/%s/%s", p.to.taskrun, url.PathEscape(p.name), verb)
}

// sign requests URLs from the next part on.
func (p *partUpload) sign() error {
	query := url.Values{"first": {fmt.Sprint(p.number)}}
	if p.signed != nil {
		query.Set("upload", p.signed.Upload)
	}
	return repeat("store the file", p.stderr, func() (bool, error) {
		response, err := p.to.call(http.MethodPost, p.path("parts"), query, http.Header{"Torpor-Type": {p.kind}, "Torpor-Direct": {"parts"}})
		if err != nil {
			return false, err
		}
		if p.signed == nil && (response.status == http.StatusConflict || response.status == http.StatusNotFound || response.status == http.StatusMethodNotAllowed) {
			return false, final(errNoObjectStore)
		}
		if err := refusal(response, "the file"); err != nil {
			return false, err
		}
		return false, p.accept(response.body)
	})
}

func (p *partUpload) accept(body []byte) error {
	var signed signedParts
	if err := json.Unmarshal(body, &signed); err != nil {
		return fmt.Errorf("the archive responded without URLs: %w", err)
	}
	if p.signed == nil && len(signed.URLs) == 0 {
		p.direct = true
	}
	if _, known := signed.url(p.number); (!known && !p.direct) || signed.Part < directMax || signed.Part > partMax || (p.signed != nil && p.signed.Part != signed.Part) {
		return failure(exitUnavailable, "the archive responded with URLs that are not those of part %d", p.number)
	}
	if p.signed == nil {
		p.client = objectClient()
		p.held = append(make([]byte, 0, signed.Part), p.held...)
	}
	p.signed = &signed
	return nil
}

// send uploads the held part.
func (p *partUpload) send() error {
	upload := p.sendObject
	if p.direct {
		upload = p.sendDirect
	}
	err := upload()
	if err == nil {
		p.number++
		p.held = p.held[:0]
	}
	return err
}

// sendDirect uploads the held part to the archive. A broken upload begins again at this part.
func (p *partUpload) sendDirect() error {
	target := fmt.Sprintf("%s/%d?upload=%s", p.path("parts"), p.number, url.QueryEscape(p.signed.Upload))
	return repeat("store a part of the file", p.stderr, func() (bool, error) {
		response, err := p.to.put(target, p.kind, octets, func(into io.Writer) error {
			_, err := into.Write(p.held)
			return err
		})
		if err != nil {
			return false, err
		}
		return true, refusal(response, "the file")
	})
}

// sendObject uploads the held part to the object store. Of an old URL it requests a new one.
func (p *partUpload) sendObject() error {
	sum := md5.Sum(p.held) // which the store compares
	return repeat("store a part of the file", p.stderr, func() (bool, error) {
		target, known := p.signed.url(p.number)
		if !known {
			if err := p.sign(); err != nil {
				return false, err
			}
			target, _ = p.signed.url(p.number)
		}
		request, err := http.NewRequest(http.MethodPut, target, bytes.NewReader(p.held))
		if err != nil {
			return false, failure(exitUnavailable, "the archive responded with an invalid URL")
		}
		for name, value := range p.signed.Headers {
			request.Header.Set(name, value)
		}
		request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		response, err := p.client.Do(request)
		if err != nil {
			return false, withoutQuery(err)
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, answerMax))
		if response.StatusCode >= 200 && response.StatusCode < 300 {
			return true, nil
		}
		p.signed.URLs = nil
		return false, fmt.Errorf("the object store responded with %s", response.Status)
	})
}

// finalError is no toolError for the user, and still ends a repetition.
type finalError struct{ cause error }

func (e *finalError) Error() string { return e.cause.Error() }
func (e *finalError) Unwrap() error { return e.cause }

func final(err error) error { return &finalError{err} }

// withoutQuery removes the signature of a URL from an error.
func withoutQuery(err error) error {
	var known *url.Error
	if errors.As(err, &known) {
		address, _, _ := strings.Cut(known.URL, "?")
		return fmt.Errorf("%s %s: %w", known.Op, address, known.Err)
	}
	return err
}

// objectClient connects to an object store. Each read and write of a connection has a limit.
func objectClient() *http.Client {
	dialer := &net.Dialer{Timeout: connectLimit}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities(), MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			link, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &patient{link}, nil
		},
		ResponseHeaderTimeout: idleLimit,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
	}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// authorities returns those of the image, and those beside this program: an image may have none.
func authorities() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if program, err := os.Executable(); err == nil {
		if own, err := os.ReadFile(filepath.Join(filepath.Dir(program), certificates)); err == nil {
			pool.AppendCertsFromPEM(own)
		}
	}
	return pool
}
