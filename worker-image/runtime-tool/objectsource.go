package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
)

const (
	pageMax      = 8 << 20 // bytes of one page of a listing
	pagesMax     = 1000    // each has up to 1,000 objects
	pageLength   = "1000"
	errorTextMax = 4096
)

// objectSpec is an object, or all below a prefix, of an object store. Its last six fields are names of variables.
type objectSpec struct {
	URL               string `json:"url"`
	SHA256            string `json:"sha256"`
	Endpoint          string `json:"endpoint"`
	Region            string `json:"region"`
	AccountName       string `json:"accountName"`
	AccessKeyID       string `json:"accessKeyId"`
	SecretAccessKey   string `json:"secretAccessKey"`
	SessionToken      string `json:"sessionToken"`
	ServiceAccountKey string `json:"serviceAccountKey"`
	AccountKey        string `json:"accountKey"`
	SASToken          string `json:"sasToken"`
}

// objectStore makes the signed requests of one kind of object store, and reads its listings.
type objectStore interface {
	object(key string) (*http.Request, error)
	listing(prefix, after string) (*http.Request, error)
	page(from io.Reader) (objectPage, error)
}

// objectPage is a part of a listing. Without an after it is the last one.
type objectPage struct {
	keys  []string
	after string
}

// fetchObject writes an object as a file, or all objects below a prefix as a folder.
func fetchObject(ctx context.Context, source objectSpec, target string, limit *budget) error {
	client, err := sourceClient()
	if err != nil {
		return err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	scheme, bucket, key, err := parseObjectURL(source.URL)
	if err != nil {
		return err
	}
	store, err := openObjectStore(ctx, client, source, scheme, bucket)
	if err != nil {
		return err
	}
	fetcher := &objectFetcher{context: ctx, client: client, store: store, source: source}
	if key == "" || strings.HasSuffix(key, "/") {
		return fetcher.fetchPrefix(key, target, limit)
	}
	root, err := os.OpenRoot(path.Dir(target))
	if err != nil {
		return failure(exitCannotCreate, "cannot open the folder of %s: %s", target, err)
	}
	defer root.Close()
	return fetcher.fetchKey(root, key, path.Base(target), limit)
}

// parseObjectURL returns the scheme, the bucket and the key. Names of buckets become parts of a path.
func parseObjectURL(text string) (string, string, string, error) {
	scheme, rest, found := strings.Cut(text, "://")
	bucket, key, _ := strings.Cut(rest, "/")
	if !found || (scheme != "s3" && scheme != "gs" && scheme != "az") || !bucketName.MatchString(bucket) {
		return "", "", "", failure(exitContent, "%q is not an address such as s3://bucket/key, gs://bucket/key or az://container/path", text)
	}
	return scheme, bucket, key, nil
}

var bucketName = regexp.MustCompile(`^[a-zA-Z0-9$][-a-zA-Z0-9._]{0,221}$`)

func openObjectStore(ctx context.Context, client *http.Client, source objectSpec, scheme, bucket string) (objectStore, error) {
	standard := map[string]string{
		"s3": "https://s3." + orElse(source.Region, "us-east-1") + ".amazonaws.com",
		"gs": "https://storage.googleapis.com",
		"az": "https://" + source.AccountName + ".blob.core.windows.net",
	}[scheme]
	endpoint, err := url.Parse(strings.TrimSuffix(orElse(source.Endpoint, standard), "/"))
	if err != nil || endpoint.Host == "" || endpoint.User != nil || (endpoint.Scheme != "http" && endpoint.Scheme != "https") {
		return nil, failure(exitContent, "endpoint is %q, not an address with http:// or https://", source.Endpoint)
	}
	switch scheme {
	case "s3":
		return &s3Store{
			endpoint: endpoint, bucket: bucket, region: orElse(source.Region, "us-east-1"), now: time.Now,
			keyID: secret(source.AccessKeyID), key: secret(source.SecretAccessKey), session: secret(source.SessionToken),
		}, nil
	case "gs":
		store := &gcsStore{endpoint: endpoint, bucket: bucket}
		if source.ServiceAccountKey != "" {
			keyFile := secret(source.ServiceAccountKey)
			store.token = &googleToken{now: time.Now, exchange: func(now time.Time) (string, error) {
				return accessToken(ctx, client, keyFile, now)
			}}
			_, err = store.token.current()
		}
		return store, err
	default:
		return newAzureStore(endpoint, bucket, source)
	}
}

// secret returns the value of a variable that the kubelet took from a Secret.
func secret(variable string) string {
	if variable == "" {
		return ""
	}
	return strings.TrimSpace(os.Getenv(variable))
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
