// lesscaps is runc for machines whose bounding set lacks CAP_SYS_RESOURCE: it takes that capability out of
// the specs that runc is given, which would fail on it, and becomes runc.
//
// A program and not a script, since it runs once more for every container that starts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	missing = "CAP_SYS_RESOURCE"
	runc    = "/usr/sbin/runc" // where Debian has it, on the host and in the node image
)

func main() {
	err := lessen(os.Args[1:])
	if err == nil {
		err = syscall.Exec(runc, append([]string{runc}, os.Args[1:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, "lesscaps:", err)
	os.Exit(1)
}

// lessen rewrites the specs that runc's arguments name: a bundle's at create, a process's at exec.
func lessen(args []string) error {
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--bundle", "-b":
			if err := rewrite(filepath.Join(value, "config.json"), "process"); err != nil {
				return err
			}
		case "--process", "-p":
			if err := rewrite(value, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewrite drops the missing capability from the process in a JSON file; all else stays as it was, byte for byte.
func rewrite(path, key string) error {
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil // not ours to report: runc says it better
	}
	if err != nil {
		return err
	}
	lessened, err := edit(content, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, lessened, 0o600)
}

func edit(content []byte, key string) ([]byte, error) {
	if key == "" {
		return inObject(content, "capabilities", withoutMissing)
	}
	return inObject(content, key, func(process []byte) ([]byte, error) {
		return inObject(process, "capabilities", withoutMissing)
	})
}

// inObject changes one member of a JSON object, if it has it.
func inObject(content []byte, key string, change func([]byte) ([]byte, error)) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, err
	}
	member, ok := object[key]
	if !ok || string(member) == "null" {
		return content, nil
	}
	changed, err := change(member)
	if err != nil {
		return nil, err
	}
	object[key] = changed
	return json.Marshal(object)
}

func withoutMissing(content []byte) ([]byte, error) {
	var sets map[string][]string
	if err := json.Unmarshal(content, &sets); err != nil {
		return nil, err
	}
	for name, set := range sets {
		sets[name] = slices.DeleteFunc(set, func(capability string) bool { return capability == missing })
	}
	return json.Marshal(sets)
}
