package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// errBatchEnd ends a partDownload: further URLs are to be requested.
var errBatchEnd = errors.New("the end of the URLs")

// partDownload reads objects one after another, beginning at an offset in the file.
type partDownload struct {
	client *http.Client
	signed signedParts
	at     int64
	body   io.ReadCloser
}

func newPartDownload(text []byte, offset int64) (*partDownload, error) {
	var signed signedParts
	if err := json.Unmarshal(text, &signed); err != nil || signed.Part <= 0 {
		return nil, errors.New("the archive responded without URLs")
	}
	return &partDownload{client: objectClient(), signed: signed, at: offset}, nil
}

func (d *partDownload) Close() error {
	if d.body != nil {
		d.body.Close()
		d.body = nil
	}
	d.client.CloseIdleConnections()
	return nil
}

func (d *partDownload) Read(into []byte) (int, error) {
	for {
		if d.body == nil {
			if err := d.request(); err != nil {
				return 0, err
			}
		}
		read, err := d.body.Read(into)
		d.at += int64(read)
		if errors.Is(err, io.EOF) {
			d.body.Close()
			d.body, err = nil, nil
			if read == 0 && d.at%d.signed.Part != 0 {
				return 0, io.ErrUnexpectedEOF
			}
		}
		if read > 0 || err != nil {
			return read, withoutQuery(err)
		}
	}
}

func (d *partDownload) request() error {
	target, known := d.signed.url(d.at / d.signed.Part)
	if !known {
		return errBatchEnd
	}
	request, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return failure(exitUnavailable, "the archive responded with an invalid URL")
	}
	skipped := d.at % d.signed.Part
	if skipped > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", skipped))
	}
	response, err := d.client.Do(request)
	if err != nil {
		return withoutQuery(err)
	}
	if (skipped == 0 && response.StatusCode != http.StatusOK) || (skipped > 0 && response.StatusCode != http.StatusPartialContent) {
		response.Body.Close()
		return fmt.Errorf("the object store responded with %s", response.Status)
	}
	d.body = response.Body
	return nil
}
