// Package jobs runs a command line tool many times within one process.
//
// Orders are JSON on standard input. Each is carried out in its own folder, and answered as soon as it has ended: a
// line of JSON, then what the tool has printed. Whatever ends the process (a panic, an exit, a limit) leaves the rest
// without an answer; whoever asked then runs the tool itself for those, and also for whatever did not end well.
package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
)

// Word is the argument that asks for many runs; with any other, the program is the tool itself.
const Word = "trimtab-jobs"

// Order is one run of the tool.
type Order struct {
	Folder      string            `json:"folder"`
	Arguments   []string          `json:"arguments"`
	Environment map[string]string `json:"environment"`
}

// Answer comes before what the tool has printed: the exit code, and how many bytes follow.
type Answer struct {
	Code   int `json:"code"`
	Stdout int `json:"stdout"`
}

// Tool runs once with these arguments, as its own main function would, and returns the exit code.
type Tool func(arguments []string) int

// Main runs the tool once with the arguments of this process, or many times with those on standard input.
func Main(tool Tool) {
	if len(os.Args) != 2 || os.Args[1] != Word {
		os.Exit(tool(os.Args[1:]))
	}
	if err := serve(tool, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func serve(tool Tool, orders io.Reader, answers io.Writer) error {
	var err error
	if os.Stdin, err = nothing(); err != nil {
		return err
	}
	if os.Stdout, err = nameless(); err != nil {
		return err
	}
	for decoder := json.NewDecoder(orders); ; {
		var order Order
		if err := decoder.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := carryOut(tool, order, answers); err != nil {
			return err
		}
	}
}

// carryOut runs the tool as if this process had been started for it, and hands over what it has printed.
func carryOut(tool Tool, order Order, answers io.Writer) error {
	if err := os.Chdir(order.Folder); err != nil {
		return err
	}
	for name, value := range order.Environment {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	os.Args = append(os.Args[:1:1], order.Arguments...)
	log.SetOutput(os.Stderr)
	log.SetFlags(log.LstdFlags)
	code := tool(order.Arguments)
	printed, err := taken(os.Stdout)
	if err != nil {
		return err
	}
	var answer bytes.Buffer
	if err := json.NewEncoder(&answer).Encode(Answer{Code: code, Stdout: len(printed)}); err != nil {
		return err
	}
	answer.Write(printed)
	_, err = answers.Write(answer.Bytes())
	return err
}

// nothing is at its end from the beginning; behind walls there are no devices that would be.
func nothing() (*os.File, error) {
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return reading, writing.Close()
}

// nameless is a file that nobody can open, so that whoever prints is never held up.
func nameless() (*os.File, error) {
	file, err := os.CreateTemp("", "printed-")
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

// taken is what a file holds; afterwards it is empty.
func taken(file *os.File) ([]byte, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(0); err != nil {
		return nil, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return content, err
}
