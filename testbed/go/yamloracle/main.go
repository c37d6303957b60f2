// Command yamloracle answers how Kubernetes reads and writes YAML.
//
// It reads one JSON request per line from standard input and prints one JSON answer per line:
//
//	{"read": "a: yes\n"}    -> {"documents": [{"a":true}]}   as kubectl reads a file, null documents left out
//	{"write": {"a": "yes"}} -> {"text": "a: \"yes\"\n"}      as kubectl prints an object
//
// A request that Kubernetes refuses is answered with {"error": "..."}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	jsonutil "k8s.io/apimachinery/pkg/util/json"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// kubectl looks this far into a stream to tell JSON from YAML.
const guessWindow = 4096

type request struct {
	Read  *string         `json:"read"`
	Write json.RawMessage `json:"write"`
}

type answer struct {
	Documents *[]any  `json:"documents,omitempty"`
	Text      *string `json:"text,omitempty"`
	Error     string  `json:"error,omitempty"`
}

func main() {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for {
		var asked request
		err := in.Decode(&asked)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = encoder.Encode(reply(asked))
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "yamloracle:", err)
			os.Exit(1)
		}
	}
}

func reply(asked request) (given answer) {
	defer func() {
		if problem := recover(); problem != nil {
			given = answer{Error: fmt.Sprint(problem)}
		}
	}()
	if asked.Read != nil {
		documents, err := read(*asked.Read)
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Documents: &documents}
	}
	text, err := write(asked.Write)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Text: &text}
}

// read follows kubectl: raw documents first, empty ones left out, numbers as int64 or float64.
func read(text string) ([]any, error) {
	decoder := yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(text), guessWindow)
	documents := []any{}
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		document, err := value(raw)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

func write(raw json.RawMessage) (string, error) {
	object, err := value(raw)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(object)
	return string(text), err
}

func value(raw []byte) (decoded any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	return decoded, jsonutil.ConvertInterfaceNumbers(&decoded, 0)
}
