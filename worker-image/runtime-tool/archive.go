package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
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
	"time"
)

const (
	connectLimit = 5 * time.Second
	idleLimit    = 60 * time.Second
	answerMax    = 1 << 20
	archiveToken = "archive-token" // torpor_wire.constants.ARCHIVE_TOKEN
)

// archive is the archive of the installation, for the result of one TaskRun.
type archive struct {
	address *url.URL
	trust   *tls.Config
	token   string // the path of the file, which the kubelet renews
	// taskrun is the path of the TaskRun; namespace and name are its parts.
	taskrun, namespace, name string
	// step is the step whose result is stored; empty in a pod without steps.
	step string
}

// newArchive reads the environment of the pod. Without an archive it returns nil.
func newArchive(environment func(string) string, credentials string) (*archive, error) {
	given := environment("TORPOR_ARCHIVE_URL")
	if given == "" {
		return nil, nil
	}
	address, err := url.Parse(given)
	if err != nil || address.Scheme != "https" || address.Hostname() == "" {
		return nil, failure(exitConfiguration, "TORPOR_ARCHIVE_URL is %q, not https://host:port", given)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM([]byte(environment("TORPOR_ARCHIVE_CA"))) {
		return nil, failure(exitConfiguration, "TORPOR_ARCHIVE_CA has no certificate in PEM")
	}
	namespace, name := environment("TORPOR_NAMESPACE"), environment("TORPOR_TASKRUN")
	if namespace == "" || name == "" {
		return nil, failure(exitConfiguration, "TORPOR_NAMESPACE and TORPOR_TASKRUN are not set: use put in pods that Torpor creates")
	}
	return &archive{
		address: address,
		trust:   &tls.Config{RootCAs: authorities, ServerName: address.Hostname(), MinVersion: tls.VersionTLS12},
		token:   filepath.Join(credentials, archiveToken),
		taskrun: fmt.Sprintf("/v1/namespaces/%s/taskruns/%s", url.PathEscape(namespace), url.PathEscape(name)),

		namespace: namespace,
		name:      name,
		step:      environment("TORPOR_STEP"),
	}, nil
}

// resultPath returns where the result of the task, or of its step, is stored.
func (a *archive) resultPath() string {
	if a.step == "" {
		return a.taskrun + "/result"
	}
	return a.taskrun + "/result?step=" + url.QueryEscape(a.step)
}

// answer is the response of the archive, and what was sent.
type answer struct {
	status int
	body   []byte
	size   int64
	digest string
}

// put sends one request. An error without a toolError may be temporary.
//
// It does without the client of net/http, which may report a failed write where the archive has responded before the
// end of the body.
func (a *archive) put(path, kind, mediaType string, write func(io.Writer) error) (*answer, error) {
	token, err := os.ReadFile(a.token)
	if err != nil {
		return nil, failure(exitConfiguration, "this pod has no token for the archive: %s", err)
	}
	link, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer link.Close()
	sent := &passing{digest: sha256.New()}
	request := a.request(path, kind, mediaType, strings.TrimSpace(string(token)))
	request.Body = sent.body(write)
	unsent := request.Write(link)
	if sent.failed != nil { // the content cannot be read or encoded
		return nil, sent.failed
	}
	response, err := http.ReadResponse(bufio.NewReader(link), request)
	if err != nil {
		return nil, errors.Join(unsent, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, body, sent.size, hex.EncodeToString(sent.digest.Sum(nil))}, nil
}

func (a *archive) request(path, kind, mediaType, token string) *http.Request {
	header := http.Header{
		"Authorization": {"Bearer " + token},
		"Content-Type":  {mediaType},
		"Torpor-Type":   {kind},
		"User-Agent":    {"torpor-tool"},
	}
	path, query, _ := strings.Cut(path, "?")
	return &http.Request{
		Method: http.MethodPut, URL: &url.URL{Path: path, RawQuery: query}, Host: a.address.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, TransferEncoding: []string{"chunked"}, Close: true,
	}
}

// call sends one request without a body.
func (a *archive) call(method, path string, query url.Values, header http.Header) (*answer, error) {
	token, err := os.ReadFile(a.token)
	if err != nil {
		return nil, failure(exitConfiguration, "this pod has no token for the archive: %s", err)
	}
	link, err := a.connect()
	if err != nil {
		return nil, err
	}
	defer link.Close()
	sent := http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}, "User-Agent": {"torpor-tool"}}
	for name, values := range header {
		sent[name] = values
	}
	request := &http.Request{
		Method: method, URL: &url.URL{Path: path, RawQuery: query.Encode()}, Host: a.address.Host, Header: sent,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true,
	}
	if err := request.Write(link); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(link), request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, err
	}
	return &answer{status: response.StatusCode, body: body}, nil
}

func (a *archive) connect() (net.Conn, error) {
	port := a.address.Port()
	if port == "" {
		port = "443"
	}
	plain, err := net.DialTimeout("tcp", net.JoinHostPort(a.address.Hostname(), port), connectLimit)
	if err != nil {
		return nil, err
	}
	return tls.Client(&patient{plain}, a.trust), nil
}

// patient is a connection whose every read and write has a limit.
type patient struct{ net.Conn }

func (p *patient) Read(into []byte) (int, error) {
	p.SetDeadline(time.Now().Add(idleLimit))
	return p.Conn.Read(into)
}

func (p *patient) Write(data []byte) (int, error) {
	p.SetDeadline(time.Now().Add(idleLimit))
	return p.Conn.Write(data)
}

// passing counts the bytes of a body and computes their digest.
type passing struct {
	size   int64
	digest hash.Hash
	failed error
}

// errAbandoned ends the encoding of a body that the archive no longer reads.
var errAbandoned = errors.New("abandoned")

// body runs write in the background and returns its output. Closing it awaits the end of write.
func (p *passing) body(write func(io.Writer) error) io.ReadCloser {
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffered := bufio.NewWriterSize(io.MultiWriter(writer, p), 64*1024)
		err := write(buffered)
		if err == nil {
			err = buffered.Flush()
		}
		if !errors.Is(err, errAbandoned) {
			p.failed = err
		}
		writer.CloseWithError(err)
	}()
	return &background{reader, done}
}

// Write counts what the connection has taken: MultiWriter calls it after the pipe.
func (p *passing) Write(data []byte) (int, error) {
	p.size += int64(len(data))
	return p.digest.Write(data)
}

type background struct {
	*io.PipeReader
	done <-chan struct{}
}

func (b *background) Close() error {
	b.CloseWithError(errAbandoned)
	<-b.done
	return nil
}

// description returns the stored result for the outcome: what the archive responded, without null fields.
func (a *answer) description() (map[string]any, error) {
	var found map[string]any
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if err := decoder.Decode(&found); err != nil {
		return nil, fmt.Errorf("the archive responded without a description: %w", err)
	}
	if fmt.Sprint(found["size"]) != fmt.Sprint(a.size) || found["digest"] != a.digest {
		return nil, fmt.Errorf("the archive stored another body than the %d bytes sent", a.size)
	}
	described := map[string]any{}
	for _, name := range []string{"size", "digest", "type", "length", "keys", "name"} {
		if found[name] != nil {
			described[name] = found[name]
		}
	}
	return described, nil
}

// message returns what the archive says about a rejection.
func (a *answer) message() string {
	var found struct{ Message string }
	_ = json.Unmarshal(a.body, &found)
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", a.status, found.Message), ": ")
}
