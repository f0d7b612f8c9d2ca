package main

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"
)

const (
	emptyDigest   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
	signedAtForm  = "20060102T150405Z"
	azureVersion  = "2021-08-06"
	readOnlyScope = "https://www.googleapis.com/auth/devstorage.read_only"
	googleTokens  = "https://oauth2.googleapis.com/token"
	tokenSeconds  = 3600
	tokenMax      = 64 << 10
)

// percentEncoded encodes all but the unreserved characters of RFC 3986, as signatures of S3 demand.
func percentEncoded(text string, keep string) string {
	var encoded strings.Builder
	for _, each := range []byte(text) {
		switch {
		case each >= 'a' && each <= 'z', each >= 'A' && each <= 'Z', each >= '0' && each <= '9', strings.IndexByte("-._~"+keep, each) >= 0:
			encoded.WriteByte(each)
		default:
			fmt.Fprintf(&encoded, "%%%02X", each)
		}
	}
	return encoded.String()
}

func encodedQuery(values map[string]string) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	for index, name := range names {
		names[index] = percentEncoded(name, "") + "=" + percentEncoded(values[name], "")
	}
	return strings.Join(names, "&")
}

// objectRequest returns a GET of a path, which is sent as it is encoded.
func objectRequest(endpoint *url.URL, decoded, encoded, query string) (*http.Request, error) {
	address := &url.URL{
		Scheme: endpoint.Scheme, Host: endpoint.Host, RawQuery: query,
		Path: endpoint.Path + decoded, RawPath: endpoint.EscapedPath() + encoded,
	}
	return http.NewRequest(http.MethodGet, address.String(), nil)
}

// signV4 signs a request without a body by AWS Signature Version 4.
func signV4(request *http.Request, region, keyID, key, session string, now time.Time) {
	at := now.UTC().Format(signedAtForm)
	request.Header.Set("X-Amz-Date", at)
	request.Header.Set("X-Amz-Content-Sha256", emptyDigest)
	headers := []string{"host:" + request.URL.Host, "x-amz-content-sha256:" + emptyDigest, "x-amz-date:" + at}
	if session != "" {
		request.Header.Set("X-Amz-Security-Token", session)
		headers = append(headers, "x-amz-security-token:"+session)
	}
	names := make([]string, len(headers))
	for index, header := range headers {
		names[index], _, _ = strings.Cut(header, ":")
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{
		request.Method, request.URL.EscapedPath(), request.URL.RawQuery, strings.Join(headers, "\n") + "\n", signed, emptyDigest,
	}, "\n")
	scope := strings.Join([]string{at[:8], region, "s3", "aws4_request"}, "/")
	digest := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, hex.EncodeToString(digest[:])}, "\n")
	derived := []byte("AWS4" + key)
	for _, part := range strings.Split(scope, "/") {
		derived = hmacOf(derived, part)
	}
	request.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		keyID, scope, signed, hex.EncodeToString(hmacOf(derived, text))))
}

func hmacOf(key []byte, text string) []byte {
	code := hmac.New(sha256.New, key)
	code.Write([]byte(text))
	return code.Sum(nil)
}

// signShared signs a request without a body by the key of an Azure storage account.
func signShared(request *http.Request, account string, key []byte, now time.Time) {
	at := now.UTC().Format(http.TimeFormat)
	request.Header.Set("X-Ms-Date", at)
	resource := "/" + account + request.URL.EscapedPath()
	query := request.URL.Query()
	names := make([]string, 0, len(query))
	for name := range query {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		resource += "\n" + name + ":" + query.Get(name)
	}
	// The empty lines are headers that the request does not have.
	text := request.Method + strings.Repeat("\n", 12) + "x-ms-date:" + at + "\nx-ms-version:" + azureVersion + "\n" + resource
	signature := base64.StdEncoding.EncodeToString(hmacOf(key, text))
	request.Header.Set("Authorization", fmt.Sprintf("SharedKey %s:%s", account, signature))
}

// serviceAccount is the key file of a service account of Google Cloud.
type serviceAccount struct {
	Type         string `json:"type"`
	Email        string `json:"client_email"`
	PrivateKey   string `json:"private_key"`
	PrivateKeyID string `json:"private_key_id"`
	TokenURI     string `json:"token_uri"`
}

// googleToken is the access token of a service account. A source may take longer than a token lives.
type googleToken struct {
	now      func() time.Time
	exchange func(now time.Time) (string, error)
	text     string
	renewAt  time.Time
}

// current returns a token that lives long enough for the next request.
func (g *googleToken) current() (string, error) {
	if now := g.now(); g.text == "" || !now.Before(g.renewAt) {
		text, err := g.exchange(now)
		if err != nil {
			return "", err
		}
		g.text, g.renewAt = text, now.Add(tokenSeconds*time.Second*3/4)
	}
	return g.text, nil
}

// accessToken exchanges the key of a service account for a token that can read objects.
func accessToken(ctx context.Context, client *http.Client, keyFile string, now time.Time) (string, error) {
	var account serviceAccount
	if err := json.Unmarshal([]byte(keyFile), &account); err != nil || account.Type != "service_account" {
		return "", failure(exitConfiguration, "serviceAccountKey is not the JSON key of a service account")
	}
	assertion, err := account.assertion(now)
	if err != nil {
		return "", failure(exitConfiguration, "the private key of serviceAccountKey is not valid: %s", err)
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, orElse(account.TokenURI, googleTokens), strings.NewReader(form.Encode()))
	if err != nil {
		return "", failure(exitConfiguration, "token_uri of serviceAccountKey is not an address")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		return "", failure(exitUnavailable, "cannot get a token: %s", oneLine(withoutQuery(err)))
	}
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if response.StatusCode != http.StatusOK {
		return "", failure(exitUnavailable, "cannot get a token: %s responded with %s", request.URL.Host, statusOf(response))
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, tokenMax)).Decode(&answer); err != nil || answer.Token == "" {
		return "", failure(exitUnavailable, "cannot get a token: %s responded without one", request.URL.Host)
	}
	return answer.Token, nil
}

// assertion is a JSON Web Token by which the account asks for an access token.
func (a *serviceAccount) assertion(now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(a.PrivateKey))
	if block == nil {
		return "", errors.New("it is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	key, isRSA := parsed.(*rsa.PrivateKey)
	if !isRSA {
		return "", errors.New("it is not an RSA key")
	}
	header, _ := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": a.PrivateKeyID})
	claims, _ := json.Marshal(map[string]any{
		"iss": a.Email, "scope": readOnlyScope, "aud": orElse(a.TokenURI, googleTokens),
		"iat": now.Unix(), "exp": now.Unix() + tokenSeconds,
	})
	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		return "", err
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
