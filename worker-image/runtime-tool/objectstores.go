package main

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// s3Store is a bucket of S3 or of a store that has its API. Without keys its requests are not signed.
type s3Store struct {
	endpoint            *url.URL
	bucket, region      string
	keyID, key, session string
	now                 func() time.Time
}

func (s *s3Store) object(key string) (*http.Request, error) {
	return s.signed("/"+key, "")
}

func (s *s3Store) listing(prefix, after string) (*http.Request, error) {
	query := map[string]string{"list-type": "2", "encoding-type": "url", "max-keys": pageLength, "prefix": prefix}
	if after != "" {
		query["continuation-token"] = after
	}
	return s.signed("", encodedQuery(query))
}

func (s *s3Store) signed(key, query string) (*http.Request, error) {
	request, err := objectRequest(s.endpoint, "/"+s.bucket+key, "/"+s.bucket+percentEncoded(key, "/"), query)
	if err == nil && s.keyID != "" {
		signV4(request, s.region, s.keyID, s.key, s.session, s.now())
	}
	return request, err
}

func (s *s3Store) page(from io.Reader) (objectPage, error) {
	var listed struct {
		Encoding  string `xml:"EncodingType"`
		Truncated bool   `xml:"IsTruncated"`
		After     string `xml:"NextContinuationToken"`
		Contents  []struct {
			Key string
		}
	}
	if err := xml.NewDecoder(from).Decode(&listed); err != nil {
		return objectPage{}, badListing(err)
	}
	var page objectPage
	for _, each := range listed.Contents {
		key := each.Key
		if listed.Encoding == "url" {
			var err error
			if key, err = url.QueryUnescape(key); err != nil {
				return page, badListing(err)
			}
		}
		page.keys = append(page.keys, key)
	}
	if listed.Truncated {
		page.after = listed.After
	}
	return page, nil
}

// gcsStore is a bucket of Google Cloud Storage, by its JSON API.
type gcsStore struct {
	endpoint *url.URL
	bucket   string
	token    *googleToken // nil for a public object
}

func (g *gcsStore) object(key string) (*http.Request, error) {
	return g.request("/"+key, "/"+percentEncoded(key, ""), "alt=media")
}

func (g *gcsStore) listing(prefix, after string) (*http.Request, error) {
	query := map[string]string{"prefix": prefix, "maxResults": pageLength, "fields": "items(name),nextPageToken"}
	if after != "" {
		query["pageToken"] = after
	}
	return g.request("", "", encodedQuery(query))
}

func (g *gcsStore) request(key, encoded, query string) (*http.Request, error) {
	folder := "/storage/v1/b/" + g.bucket + "/o"
	request, err := objectRequest(g.endpoint, folder+key, folder+encoded, query)
	if err != nil || g.token == nil {
		return request, err
	}
	token, err := g.token.current()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return request, nil
}

func (g *gcsStore) page(from io.Reader) (objectPage, error) {
	var listed struct {
		After string `json:"nextPageToken"`
		Items []struct {
			Name string `json:"name"`
		} `json:"items"`
	}
	if err := json.NewDecoder(from).Decode(&listed); err != nil {
		return objectPage{}, badListing(err)
	}
	page := objectPage{after: listed.After}
	for _, item := range listed.Items {
		page.keys = append(page.keys, item.Name)
	}
	return page, nil
}

// azureStore is a container of Azure Blob Storage.
type azureStore struct {
	endpoint           *url.URL
	container, account string
	key                []byte
	sas                string
	now                func() time.Time
}

func newAzureStore(endpoint *url.URL, container string, source objectSpec) (objectStore, error) {
	store := &azureStore{
		endpoint: endpoint, container: container, account: source.AccountName, now: time.Now,
		sas: strings.TrimPrefix(secret(source.SASToken), "?"),
	}
	var err error
	if store.key, err = base64.StdEncoding.DecodeString(secret(source.AccountKey)); err != nil {
		return nil, failure(exitConfiguration, "accountKey is not base64")
	}
	return store, nil
}

func (a *azureStore) object(key string) (*http.Request, error) {
	return a.signed("/"+key, "")
}

func (a *azureStore) listing(prefix, after string) (*http.Request, error) {
	query := map[string]string{"restype": "container", "comp": "list", "maxresults": pageLength, "prefix": prefix}
	if after != "" {
		query["marker"] = after
	}
	return a.signed("", encodedQuery(query))
}

func (a *azureStore) signed(key, query string) (*http.Request, error) {
	if a.sas != "" {
		query = strings.TrimPrefix(query+"&"+a.sas, "&")
	}
	request, err := objectRequest(a.endpoint, "/"+a.container+key, "/"+a.container+percentEncoded(key, "/"), query)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-Ms-Version", azureVersion)
	if len(a.key) > 0 {
		signShared(request, a.account, a.key, a.now())
	}
	return request, nil
}

func (a *azureStore) page(from io.Reader) (objectPage, error) {
	var listed struct {
		After string `xml:"NextMarker"`
		Blobs struct {
			Blob []struct {
				Name string
			}
		}
	}
	if err := xml.NewDecoder(from).Decode(&listed); err != nil {
		return objectPage{}, badListing(err)
	}
	page := objectPage{after: listed.After}
	for _, blob := range listed.Blobs.Blob {
		page.keys = append(page.keys, blob.Name)
	}
	return page, nil
}

func badListing(err error) error { return fmt.Errorf("the store responded without a listing: %w", err) }
