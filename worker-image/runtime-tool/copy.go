package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderEntries are what the image has at its root, in the order of copying, and toolEntries what torpor-tool uses.
var (
	folderEntries = []string{"lib", "start.py", "torpor-tool", certificates}
	toolEntries   = folderEntries[2:]
)

const (
	partVariable = "TORPOR_COPY"
	partTool     = "tool"
)

// entriesOf returns the entries of a part of the folder. Any other part than the tool is all of it.
func entriesOf(part string) []string {
	if part == partTool {
		return toolEntries
	}
	return folderEntries
}

func runCopy(args []string) error {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return failure(exitUsage, "usage: torpor-tool copy DEST")
	}
	program, err := os.Executable()
	if err != nil {
		return failure(exitNoInput, "cannot find the runtime folder: %s", err)
	}
	if err := copyFolder(filepath.Dir(program), args[0], entriesOf(os.Getenv(partVariable))); err != nil {
		return err
	}
	return writeScripts(os.Environ(), filepath.Join(args[0], scriptFolder))
}

const (
	scriptFolder   = "scripts"
	scriptVariable = "TORPOR_SCRIPT_" // and the name of the container that runs it
)

// writeScripts writes the scripts of the pod's containers: as files that nothing in the pod can change.
func writeScripts(environment []string, folder string) error {
	for _, entry := range environment {
		name, text, _ := strings.Cut(entry, "=")
		container, isScript := strings.CutPrefix(name, scriptVariable)
		if !isScript {
			continue
		}
		if container == "" || container != filepath.Base(container) || container[0] == '.' {
			return failure(exitUsage, "the script %q is not named for a container", name)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return failure(exitCannotCreate, "cannot create %s: %s", folder, err)
		}
		if err := writeWhole(strings.NewReader(text), filepath.Join(folder, container), 0o755); err != nil {
			return failure(exitCannotCreate, "cannot write the script of %s: %s", container, err)
		}
	}
	return nil
}

func writeWhole(from io.Reader, target string, mode fs.FileMode) error {
	partial := partialName(target)
	if err := writeFile(from, partial, mode); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

func partialName(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".partial")
}

// copyFolder copies entries of the runtime folder. A restarted init container replaces each file that an earlier one
// left. The other containers start after it, so a file need not appear whole. Any user can read the copy.
func copyFolder(source, target string, entries []string) error {
	defer syscall.Umask(syscall.Umask(0)) // one system call instead of a chmod for each of 228 files
	buffer := make([]byte, 64<<10)
	for _, entry := range entries {
		err := filepath.WalkDir(filepath.Join(source, entry), func(path string, found fs.DirEntry, err error) error {
			if err != nil {
				return failure(exitNoInput, "the runtime folder is incomplete: %s", err)
			}
			name, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}
			if err := copyEntry(path, filepath.Join(target, name), found, buffer); err != nil {
				return failure(exitCannotCreate, "cannot copy %s: %s", name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyEntry copies a folder or a file. It keeps no times: the bytecode in the image does not depend on them.
func copyEntry(source, target string, found fs.DirEntry, buffer []byte) error {
	if found.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	about, err := found.Info()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if about.Mode()&0o111 != 0 {
		mode = 0o755
	}
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := createAnew(target, mode)
	if err != nil {
		return err
	}
	// Without the types of the files, io.Copy reads and writes: to copy in the kernel fails between the file systems of
	// an image and a volume, and costs a try for each file.
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buffer); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}

// createAnew creates a file, in place of what an earlier init container left under its name.
func createAnew(target string, mode fs.FileMode) (*os.File, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	to, err := os.OpenFile(target, flags, mode)
	if !errors.Is(err, fs.ErrExist) {
		return to, err
	}
	if err := os.Remove(target); err != nil {
		return nil, err
	}
	return os.OpenFile(target, flags, mode)
}

func writeFile(from io.Reader, target string, mode fs.FileMode) error {
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	if err := to.Chmod(mode); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
