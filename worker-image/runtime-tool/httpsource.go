package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	redirectsMax     = 5
	httpAttempts     = 4
	httpHeadersLimit = 60 * time.Second
	sourceLimit      = 2 * time.Hour // for one source
)

// fetchHTTP writes the content of a URL. Each connection is checked, also those of redirects.
func fetchHTTP(ctx context.Context, source httpSpec, target string, limit *budget) error {
	client, err := sourceClient()
	if err != nil {
		return err
	}
	return repeatSource(ctx, source.URL, target, func() error {
		again := *limit
		err := download(ctx, client, source, target, &again)
		spend(limit, again, err)
		return err
	})
}

// spend takes from a budget what a successful attempt used.
func spend(limit *budget, left budget, err error) {
	if err == nil {
		*limit = left
	}
}

// sourceClient connects to a source that an author chose, by the rules for addresses.
func sourceClient() (*http.Client, error) {
	rules, err := parseRules(os.Getenv)
	if err != nil {
		return nil, err
	}
	return httpClient(rules), nil
}

// repeatSource fetches a source again while that may help. Each attempt begins without the target.
func repeatSource(ctx context.Context, name, target string, attempt func() error) error {
	pause := firstPause
	for number := 1; ; number++ {
		err := attempt()
		var known *toolError
		if err == nil || errors.As(err, &known) {
			return err
		}
		if ctx.Err() != nil {
			return failure(exitUnavailable, "%s took more than %s", name, sourceLimit)
		}
		if number == httpAttempts {
			return failure(exitUnavailable, "cannot fetch %s: %s", name, oneLine(err))
		}
		if err := os.RemoveAll(target); err != nil {
			return failure(exitCannotCreate, "cannot remove %s: %s", target, err)
		}
		time.Sleep(pause)
		pause = min(4*pause, longestPause)
	}
}

func httpClient(rules addressRules) *http.Client {
	dialer := &net.Dialer{Timeout: connectLimit, Control: func(_, address string, _ syscall.RawConn) error {
		return rules.check(address)
	}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		link, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &patient{link}, nil
	}
	return &http.Client{
		// No proxy: a variable of the pod would choose where the content comes from.
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities(), MinVersion: tls.VersionTLS12}, DialContext: dial, ResponseHeaderTimeout: httpHeadersLimit, DisableCompression: true},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows a few redirects of a GET. A credential stays with the server that the author wrote.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > redirectsMax {
		return failure(exitContent, "more than %d redirects", redirectsMax)
	}
	first := before[0]
	if first.Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	if first.URL.Host != next.URL.Host || first.URL.Scheme != next.URL.Scheme {
		next.Header.Del("Authorization")
	}
	return nil
}

// unexpectedStatus is final for a request that the server will reject again.
func unexpectedStatus(address string, response *http.Response) error {
	status := response.StatusCode
	if status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout {
		return failure(exitContent, "%s responded with %s", address, statusOf(response))
	}
	return errors.New(statusOf(response))
}

// statusOf describes a response without words of the server.
func statusOf(response *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode)))
}

func download(ctx context.Context, client *http.Client, source httpSpec, target string, limit *budget) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil || (request.URL.Scheme != "http" && request.URL.Scheme != "https") || request.URL.Host == "" {
		return failure(exitContent, "%q is not an address with http:// or https://", source.URL)
	}
	request.Header.Set("User-Agent", "torpor-tool")
	response, err := client.Do(request)
	if err != nil {
		return withoutQuery(err) // a redirect may lead to a signed URL
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return unexpectedStatus(source.URL, response)
	}
	digest := sha256.New()
	err = writeStream(&httpBody{io.TeeReader(response.Body, digest)}, target, limit)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); source.SHA256 != "" && got != source.SHA256 {
		return failure(exitContent, "the content of %s has the SHA-256 %s instead of %s", source.URL, got, source.SHA256)
	}
	return nil
}

// httpBody marks an error of the connection, which a retry may mend.
type httpBody struct{ from io.Reader }

func (b *httpBody) Read(into []byte) (int, error) {
	count, err := b.from.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &transferError{err}
	}
	return count, err
}
