// Posts JSON, and prints the answer. usage: ask URL JSON
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	answer, err := http.Post(os.Args[1], "application/json", strings.NewReader(os.Args[2]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(body))
	if answer.StatusCode >= 400 {
		os.Exit(22)
	}
}
