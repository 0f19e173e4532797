package layers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// fetchTimeout limits the time for one file, maxFetched its size, which is also the maximum size of a layer.
	fetchTimeout = time.Minute
	maxFetched   = 16 << 20
)

// fetch reads a file by HTTP. Configurations of modulectl may refer to files by URL.
func fetch(address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err) // which names method and address
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: %s", address, response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxFetched+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", address, err)
	}
	if len(data) > maxFetched {
		return nil, fmt.Errorf("fetch %s: the file is larger than %d bytes", address, maxFetched)
	}
	return data, nil
}
