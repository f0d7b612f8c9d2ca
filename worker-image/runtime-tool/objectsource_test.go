package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// objectServer offers objects by the API of S3 in pages of two, and fails the first answers.
type objectServer struct {
	objects map[string]string
	names   []string // in the order of the listing
	fails   int
	headers []http.Header
}

func (s *objectServer) serve(to http.ResponseWriter, request *http.Request) {
	s.headers = append(s.headers, request.Header.Clone())
	if s.fails > 0 {
		s.fails--
		to.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if request.URL.Path == "/bucket" {
		s.list(to, request.URL.Query())
		return
	}
	text, known := s.objects[strings.TrimPrefix(request.URL.Path, "/bucket/")]
	if !known {
		to.WriteHeader(http.StatusNotFound)
		io.WriteString(to, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	io.WriteString(to, text)
}

func (s *objectServer) list(to io.Writer, query url.Values) {
	var first int
	fmt.Sscan(query.Get("continuation-token"), &first)
	last := min(first+2, len(s.names))
	fmt.Fprintf(to, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated><NextContinuationToken>%d</NextContinuationToken>", last < len(s.names), last)
	for _, name := range s.names[first:last] {
		fmt.Fprintf(to, "<Contents><Key>%s</Key></Contents>", url.QueryEscape(name))
	}
	io.WriteString(to, "</ListBucketResult>")
}

func serveObjects(t *testing.T, names ...string) (*objectServer, string) {
	t.Helper()
	made := &objectServer{objects: map[string]string{}, names: names}
	for _, name := range names {
		made.objects[name] = "content of " + name
	}
	server := httptest.NewServer(http.HandlerFunc(made.serve))
	t.Cleanup(server.Close)
	t.Setenv(allowedVariable, "127.0.0.1")
	return made, server.URL
}

func TestAnObjectIsASource(t *testing.T) {
	made, endpoint := serveObjects(t, "a b/ü+?.csv")
	made.fails = 2
	code, said, target := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/a b/ü+?.csv", Endpoint: endpoint}})
	if code != 0 || textAt(t, target) != "content of a b/ü+?.csv" {
		t.Error(code, said)
	}
	if made.headers[0].Get("Authorization") != "" {
		t.Error("a request without keys is signed")
	}
	code, said, _ = fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/none", Endpoint: endpoint}})
	if code != exitContent || !strings.Contains(said, "s3://bucket/none (NoSuchKey) responded with 404 Not Found") {
		t.Error(code, said)
	}
	code, said, _ = fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/a b/ü+?.csv", Endpoint: endpoint, SHA256: digestOf(nil)}})
	if code != exitContent || !strings.Contains(said, "SHA-256") {
		t.Error(code, said)
	}
}

func TestObjectsBelowAPrefixAreAFolder(t *testing.T) {
	_, endpoint := serveObjects(t, "day/", "day/a", "day/b/", "day/b/c d", "day/e/f")
	code, said, target := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/day/", Endpoint: endpoint}})
	if code != 0 {
		t.Fatal(said)
	}
	for _, name := range []string{"a", "b/c d", "e/f"} {
		if textAt(t, filepath.Join(target, name)) != "content of day/"+name {
			t.Error(name)
		}
	}
	if code, said, _ := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/x/", Endpoint: endpoint}}); code != exitContent {
		t.Error(said)
	}
}

func TestObjectsNeverLeaveTheirFolder(t *testing.T) {
	for _, name := range []string{"day/../x", "day//x", "day/./x", "other/x", "day/a\x00b", "day/.."} {
		_, endpoint := serveObjects(t, name)
		code, said, target := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/day/", Endpoint: endpoint}})
		if code != exitContent || !strings.Contains(said, "cannot be a file below") {
			t.Errorf("%q: %d %s", name, code, said)
		}
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(target), "*")); len(found) > 1 {
			t.Error(name, found)
		}
	}
	_, endpoint := serveObjects(t, "day/a", "day/a/b")
	code, said, _ := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/day/", Endpoint: endpoint}})
	if code != exitContent || !strings.Contains(said, "not a folder") {
		t.Error(code, said)
	}
}

func TestObjectsAreBounded(t *testing.T) {
	_, endpoint := serveObjects(t, "day/a", "day/b", "day/c")
	source := objectSpec{URL: "s3://bucket/day/", Endpoint: endpoint}
	for _, limit := range []budget{{bytes: 1 << 20, entries: 2}, {bytes: 20, entries: 9}} {
		err := fetchObject(t.Context(), source, filepath.Join(t.TempDir(), "x"), &limit)
		if err == nil || !strings.Contains(err.Error(), "limit of an input") {
			t.Error(err)
		}
	}
}

func TestAnEndlessListingEnds(t *testing.T) {
	firstPause = 1e6
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		asked++
		io.WriteString(to, "<L><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></L>")
	}))
	defer server.Close()
	t.Setenv(allowedVariable, "127.0.0.1")
	err := fetchObject(t.Context(), objectSpec{URL: "s3://bucket/", Endpoint: server.URL}, filepath.Join(t.TempDir(), "x"), &budget{bytes: 1, entries: 1})
	if err == nil || asked != pagesMax {
		t.Error(asked, err)
	}
}

func TestAnObjectStoreIsNotAtAForbiddenAddress(t *testing.T) {
	_, endpoint := serveObjects(t, "a")
	t.Setenv(allowedVariable, "")
	code, said, _ := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/a", Endpoint: endpoint}})
	if code != exitContent || !strings.Contains(said, "loopback") {
		t.Error(code, said)
	}
	for _, address := range []string{"s3://", "s3://../x", "s3://a@b/x", "ftp://a/b", "s3:///x", "az://a?b/c"} {
		if code, said, _ := fetchOf(t, inputSpec{Object: &objectSpec{URL: address, Endpoint: endpoint}}); code != exitContent || !strings.Contains(said, "is not an address") {
			t.Error(address, code, said)
		}
	}
}

func TestARedirectOfAnObjectStoreIsNotFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		to.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
		http.Redirect(to, request, "http://127.0.0.1:1/", http.StatusMovedPermanently)
	}))
	defer server.Close()
	t.Setenv(allowedVariable, "127.0.0.1")
	code, said, _ := fetchOf(t, inputSpec{Object: &objectSpec{URL: "s3://bucket/a", Endpoint: server.URL}})
	if code != exitContent || !strings.Contains(said, `the bucket is in the region "eu-central-1"`) {
		t.Error(code, said)
	}
}

// The example of the documentation of S3, "GET Bucket (List Objects)", with the headers that the tool sends.
func TestARequestIsSignedAsTheDocumentationOfS3Says(t *testing.T) {
	endpoint, _ := url.Parse("https://examplebucket.s3.amazonaws.com")
	request, err := objectRequest(endpoint, "/", "/", encodedQuery(map[string]string{"prefix": "J", "max-keys": "2"}))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	signV4(request, "us-east-1", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", at)
	const signature = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
	if given := request.Header.Get("Authorization"); !strings.HasSuffix(given, "Signature="+signature) {
		t.Error(given)
	}
}

func TestKeysAndTokensOfAzureAreUsed(t *testing.T) {
	var seen []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		seen = append(seen, request)
		if request.URL.Query().Get("comp") == "list" {
			io.WriteString(to, "<EnumerationResults><Blobs><Blob><Name>d/a</Name></Blob></Blobs><NextMarker/></EnumerationResults>")
		}
	}))
	defer server.Close()
	t.Setenv(allowedVariable, "127.0.0.1")
	t.Setenv("KEY", base64.StdEncoding.EncodeToString([]byte("key")))
	t.Setenv("SAS", "?sv=1&sig=hush")
	signed := objectSpec{URL: "az://c/d/", Endpoint: server.URL, AccountName: "account", AccountKey: "KEY"}
	if code, said, _ := fetchOf(t, inputSpec{Object: &signed}); code != 0 || len(seen) != 2 {
		t.Fatal(said)
	}
	if given := seen[1].Header.Get("Authorization"); !strings.HasPrefix(given, "SharedKey account:") {
		t.Error(given)
	}
	shared := objectSpec{URL: "az://c/d/a", Endpoint: server.URL, AccountName: "account", SASToken: "SAS"}
	if code, said, _ := fetchOf(t, inputSpec{Object: &shared}); code != 0 || seen[2].URL.RawQuery != "sv=1&sig=hush" {
		t.Error(said, seen[2].URL)
	}
	server.Close()
	if _, said, _ := fetchOf(t, inputSpec{Object: &shared}); strings.Contains(said, "hush") {
		t.Error("a message has the signature:", said)
	}
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	now, count := time.Unix(0, 0), 0
	token := &googleToken{now: func() time.Time { return now }, exchange: func(time.Time) (string, error) {
		count++
		return fmt.Sprint("token ", count), nil
	}}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "token 1"}, {44 * time.Minute, "token 1"}, {45 * time.Minute, "token 2"}, {100 * time.Minute, "token 3"}} {
		now = time.Unix(0, 0).Add(step.after)
		if got, err := token.current(); got != step.want || err != nil {
			t.Errorf("after %s: %q, %v; want %q", step.after, got, err, step.want)
		}
	}
}

func TestAKeyOfAServiceAccountIsExchangedForAToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/token":
			parts := strings.Split(request.FormValue("assertion"), ".")
			digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
			signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
			if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digest[:], signature); err != nil {
				t.Error(err)
			}
			io.WriteString(to, `{"access_token": "given"}`)
		case "/storage/v1/b/bucket/o/a/b":
			if request.Header.Get("Authorization") != "Bearer given" || request.URL.EscapedPath() != "/storage/v1/b/bucket/o/a%2Fb" {
				t.Error(request.URL, request.Header)
			}
			io.WriteString(to, "content")
		case "/storage/v1/b/bucket/o":
			io.WriteString(to, `{"items": [{"name": "a/b"}]}`)
		}
	}))
	defer server.Close()
	t.Setenv(allowedVariable, "127.0.0.1")
	der, _ := x509.MarshalPKCS8PrivateKey(key)
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	file, _ := json.Marshal(serviceAccount{Type: "service_account", Email: "a@b", PrivateKey: string(text), TokenURI: server.URL + "/token"})
	t.Setenv("KEY", string(file))
	for _, address := range []string{"gs://bucket/a/b", "gs://bucket/a/"} {
		code, said, target := fetchOf(t, inputSpec{Object: &objectSpec{URL: address, Endpoint: server.URL, ServiceAccountKey: "KEY"}})
		if code != 0 {
			t.Error(said)
		}
		if about, err := os.Stat(target); err != nil || about.IsDir() != strings.HasSuffix(address, "/") {
			t.Error(about, err)
		}
	}
	for _, bad := range []string{"", "{}", `{"type": "service_account", "private_key": "x"}`} {
		t.Setenv("KEY", bad)
		source := &objectSpec{URL: "gs://bucket/a", Endpoint: server.URL, ServiceAccountKey: "KEY"}
		if code, said, _ := fetchOf(t, inputSpec{Object: source}); code != exitConfiguration {
			t.Error(bad, code, said)
		}
	}
}
