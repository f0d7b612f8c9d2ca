package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folderEntries are what the image has at its root, in the order of copying.
var folderEntries = []string{"lib", "start.py", "torpor-tool", certificates}

func runCopy(args []string) error {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return failure(exitUsage, "usage: torpor-tool copy DEST")
	}
	program, err := os.Executable()
	if err != nil {
		return failure(exitNoInput, "cannot find the runtime folder: %s", err)
	}
	if err := copyFolder(filepath.Dir(program), args[0]); err != nil {
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

// copyFolder copies the runtime folder. Each file appears whole, by a rename, so that a restarted init container
// succeeds over what an earlier one left. Any user can read the copy, whatever the umask is.
func copyFolder(source, target string) error {
	for _, entry := range folderEntries {
		err := filepath.WalkDir(filepath.Join(source, entry), func(path string, found fs.DirEntry, err error) error {
			if err != nil {
				return failure(exitNoInput, "the runtime folder is incomplete: %s", err)
			}
			name, err := filepath.Rel(source, path)
			if err != nil {
				return err
			}
			if err := copyEntry(path, filepath.Join(target, name), found); err != nil {
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

func copyEntry(source, target string, found fs.DirEntry) error {
	if found.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		return os.Chmod(target, 0o755)
	}
	about, err := os.Stat(source)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if about.Mode()&0o111 != 0 {
		mode = 0o755
	}
	partial := partialName(target)
	if err := copyFile(source, partial, mode); err != nil {
		return err
	}
	// Bytecode may be valid for the time of its source.
	if err := os.Chtimes(partial, about.ModTime(), about.ModTime()); err != nil {
		return err
	}
	return os.Rename(partial, target)
}

func copyFile(source, target string, mode fs.FileMode) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	return writeFile(from, target, mode)
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
