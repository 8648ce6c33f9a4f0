package player

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// startTimeout is how long a server may take until it answers.
const startTimeout = 30 * time.Second

// Await returns when the process answers a path with 200.
func (p *Process) Await(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := p.Get(ctx, path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", p.Name, err, p.log.Bytes())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Get fetches a document of the process.
func (p *Process) Get(ctx context.Context, path string) ([]byte, error) {
	status, body, err := p.ask(ctx, http.MethodGet, path, "", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.300s", path, status, body)
	}
	return body, err
}

// Post sends JSON to the process with an API key, and returns the status of the answer and its body.
func (p *Process) Post(ctx context.Context, path, apiKey string, body []byte) (int, []byte, error) {
	return p.ask(ctx, http.MethodPost, path, apiKey, body)
}

func (p *Process) ask(ctx context.Context, method, path, apiKey string, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.scheme()+p.Address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+apiKey)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: p.TLS, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

func (p *Process) scheme() string {
	if p.TLS != nil {
		return "https://"
	}
	return "http://"
}
