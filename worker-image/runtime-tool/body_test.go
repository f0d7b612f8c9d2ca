package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func of(text string) content {
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	return content{name: "the file", open: open}
}

func expect(t *testing.T, err error, code int, message string) {
	t.Helper()
	var known *toolError
	if !errors.As(err, &known) || known.code != code || !strings.Contains(err.Error(), message) {
		t.Errorf("%v is not an error with exit code %d and %q", err, code, message)
	}
}

func TestAValueIsCompactInlineAndInLinesForTheArchive(t *testing.T) {
	for _, each := range []struct{ text, kind, inline, body string }{
		{` [1, {"a" : "<é>"}, []]`, "list", `[1,{"a":"<é>"},[]]`, "1\n{\"a\":\"<é>\"}\n[]\n"},
		{"{\"b\": [1,\n 2], \"a<\": 1e400}", "object", `{"b":[1,2],"a<":1e400}`, "[\"b\",[1,2]]\n[\"a<\",1e400]\n"},
		{`[ ]`, "list", `[]`, ""},
		{`{}`, "object", `{}`, ""},
		{"\n\"a\\u00e9\"\n", "string", `"a\u00e9"`, `"a\u00e9"`},
		{`-12345678901234567890.5`, "number", `-12345678901234567890.5`, `-12345678901234567890.5`},
		{`true`, "boolean", `true`, `true`},
		{`null`, "null", `null`, `null`},
		{`"\ud83d\ude00 \\ud800"`, "string", `"\ud83d\ude00 \\ud800"`, `"\ud83d\ude00 \\ud800"`},
	} {
		inline, err := of(each.text).inline(100)
		if err != nil || string(inline) != each.inline {
			t.Errorf("%s inline is %s (%v)", each.text, inline, err)
		}
		kind, _, _ := of(each.text).kind()
		var body bytes.Buffer
		if err := of(each.text).body(kind, &body); err != nil || kind != each.kind || body.String() != each.body {
			t.Errorf("%s is a %s with the body %q (%v)", each.text, kind, body.String(), err)
		}
	}
}

func TestWithTextAnyUTF8IsAString(t *testing.T) {
	value := of("a\"\\\n\t\x01é😀</script>")
	value.text = true
	const expected = `"a\"\\\n\u0009\u0001é😀</script>"`
	inline, err := value.inline(100)
	if err != nil || string(inline) != expected {
		t.Errorf("inline is %s (%v)", inline, err)
	}
	var body bytes.Buffer
	if err := value.body("string", &body); err != nil || body.String() != expected {
		t.Errorf("the body is %s (%v)", body.String(), err)
	}
}

func TestTheLimitOfAnInlineValueIsExact(t *testing.T) {
	for _, text := range []string{`[1, 2]`, `{"a":1}`, `"abcd"`, `[]`} {
		compact, _ := of(text).inline(100)
		if found, err := of(text).inline(len(compact)); err != nil || !bytes.Equal(found, compact) {
			t.Errorf("%s does not fit into its own size: %v", text, err)
		}
		if _, err := of(text).inline(len(compact) - 1); !errors.Is(err, errTooLarge) {
			t.Errorf("%s fits into less than its size: %v", text, err)
		}
	}
	value := of(strings.Repeat("x", 5000))
	value.text = true
	if _, err := value.inline(4000); !errors.Is(err, errTooLarge) {
		t.Errorf("a long text is inline: %v", err)
	}
}

func TestContentThatIsNoJSONIsRejectedWithItsPlace(t *testing.T) {
	for text, message := range map[string]string{
		"":                       "the file is empty",
		" \n":                    "the file is empty",
		"hello":                  "the file is not JSON (at byte 0): invalid character 'h'",
		"[1, 2":                  "it ends early",
		`{"a": 1`:                "it ends early",
		`{"a" 1}`:                "not JSON",
		`{a: 1}`:                 "not JSON",
		"[1] [2]":                "more than one value",
		"1 2":                    "more than one value",
		"[NaN]":                  "not JSON",
		"[1,]":                   "not JSON",
		`["\ud800"]`:             "unpaired surrogate",
		`["\ud83d\ud83d"]`:       "unpaired surrogate",
		`"\uDE00"`:               "unpaired surrogate",
		"[\"abc\xff\"]":          "the file is not UTF-8 (at byte 5)",
		"\"abc\xe2\x82":          "the file is not UTF-8 (at byte 4)",
		"{\"\xe2\x28\xa1\": 1 }": "the file is not UTF-8 (at byte 2)",
	} {
		_, err := of(text).inline(100)
		expect(t, err, exitContent, message)
	}
}

func TestUTF8IsReadAcrossTheEndsOfReads(t *testing.T) {
	const text = "aé€😀" + "b"
	for _, cut := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		found, err := io.ReadAll(&utf8Reader{from: cut(strings.NewReader(text)), name: "x"})
		if err != nil || string(found) != text {
			t.Errorf("read %q (%v)", found, err)
		}
	}
}

func TestAFileThatCannotBeReadIsNamed(t *testing.T) {
	broken := iotest.ErrReader(errors.New("input/output error"))
	value := content{name: "f", open: func() (io.ReadCloser, error) { return io.NopCloser(broken), nil }}
	_, err := value.inline(10)
	expect(t, err, exitNoInput, "cannot read f: input/output error")
}
