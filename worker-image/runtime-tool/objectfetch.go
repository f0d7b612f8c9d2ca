package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
)

// objectFetcher fetches objects of one bucket.
type objectFetcher struct {
	context context.Context
	client  *http.Client
	store   objectStore
	source  objectSpec
}

// fetchPrefix writes the objects below a prefix into a new folder. The names come from the store, so none is trusted.
func (f *objectFetcher) fetchPrefix(prefix, target string, limit *budget) error {
	if err := os.Mkdir(target, 0o777); err != nil {
		return failure(exitCannotCreate, "cannot create %s: %s", target, err)
	}
	root, err := os.OpenRoot(target)
	if err != nil {
		return failure(exitCannotCreate, "cannot open %s: %s", target, err)
	}
	defer root.Close()
	after, hasObject := "", false
	for range pagesMax {
		page, err := f.list(prefix, after)
		if err != nil {
			return err
		}
		for _, key := range page.keys {
			if err := f.fetchListed(root, prefix, key, limit); err != nil {
				return err
			}
			hasObject = true
		}
		if after = page.after; after == "" {
			break
		}
	}
	switch {
	case after != "":
		return failure(exitContent, "the listing of %s has more than %d pages", f.source.URL, pagesMax)
	case !hasObject:
		return failure(exitContent, "there is no object at %s", f.source.URL)
	}
	return nil
}

func (f *objectFetcher) fetchListed(root *os.Root, prefix, key string, limit *budget) error {
	if err := limit.takeEntry(); err != nil {
		return err
	}
	name, below := strings.CutPrefix(key, prefix)
	isFolder := strings.HasSuffix(name, "/")
	name = strings.TrimSuffix(name, "/")
	if below && name == "" {
		return nil // an object for the prefix itself, as consoles create for a folder
	}
	if !below || path.Clean(name) != name || !within(name) || strings.ContainsRune(name, 0) || strings.Count(name, "/") >= depthMax {
		return failure(exitContent, "the object %q cannot be a file below %s", key, f.source.URL)
	}
	if err := makeParents(root, name); err != nil {
		return err
	}
	if isFolder {
		if err := makeFolder(root, name); err != nil {
			return failure(exitContent, "cannot create %q: %s", name, err)
		}
		return nil
	}
	return f.fetchKey(root, key, name, limit)
}

func (f *objectFetcher) list(prefix, after string) (objectPage, error) {
	var page objectPage
	err := f.repeat("", nil, func() error {
		request, err := f.store.listing(prefix, after)
		if err != nil {
			return err
		}
		response, err := f.send(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		page, err = f.store.page(io.LimitReader(response.Body, pageMax))
		return err
	})
	return page, err
}

func (f *objectFetcher) fetchKey(root *os.Root, key, name string, limit *budget) error {
	if _, err := root.Lstat(name); err == nil {
		return failure(exitContent, "two objects are %q", name)
	}
	again := *limit
	err := f.repeat(name, root, func() error {
		again = *limit
		request, err := f.store.object(key)
		if err != nil {
			return err
		}
		response, err := f.send(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		return f.write(root, name, &httpBody{response.Body}, &again)
	})
	spend(limit, again, err)
	return err
}

func (f *objectFetcher) write(root *os.Root, name string, from io.Reader, limit *budget) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return failure(exitContent, "cannot create %q: %s", name, err)
	}
	defer file.Close()
	digest := sha256.New()
	if err := fill(file, io.TeeReader(from, digest), limit); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); f.source.SHA256 != "" && got != f.source.SHA256 {
		return failure(exitContent, "the content of %s has the SHA-256 %s instead of %s", f.source.URL, got, f.source.SHA256)
	}
	return nil
}

// repeat is repeatSource for one request, which begins without the file.
func (f *objectFetcher) repeat(name string, root *os.Root, attempt func() error) error {
	pause := firstPause
	for number := 1; ; number++ {
		err := attempt()
		var known *toolError
		switch {
		case err == nil || errors.As(err, &known):
			return err
		case f.context.Err() != nil:
			return failure(exitUnavailable, "%s took more than %s", f.source.URL, sourceLimit)
		case number == httpAttempts:
			return failure(exitUnavailable, "cannot fetch %s: %s", f.source.URL, oneLine(err))
		}
		if root != nil {
			_ = root.Remove(name)
		}
		time.Sleep(pause)
		pause = min(4*pause, longestPause)
	}
}

func (f *objectFetcher) send(request *http.Request) (*http.Response, error) {
	request.Header.Set("User-Agent", "torpor-tool")
	response, err := f.client.Do(request.WithContext(f.context))
	if err != nil {
		return nil, withoutQuery(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, errorTextMax))
	said := f.source.URL
	if code := errorCode.FindSubmatch(text); code != nil {
		said = fmt.Sprintf("%s (%s)", said, code[1])
	}
	if region := response.Header.Get("X-Amz-Bucket-Region"); response.StatusCode == http.StatusMovedPermanently && region != "" {
		said = fmt.Sprintf("%s: the bucket is in the region %q: set region to it; the store", said, printable(region[:min(len(region), 40)]))
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return nil, failure(exitContent, "%s responded with %s: check the address, and the credentials: without any, an object must be public", said, statusOf(response))
	}
	return nil, unexpectedStatus(said, response)
}

// errorCode is the code in an error of S3 or Azure (XML), or of Google (JSON).
var errorCode = regexp.MustCompile(`(?:<Code>|"reason": ?")([A-Za-z]{1,60})`)
