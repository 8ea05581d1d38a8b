await Promise.reject(new Error("this worker does not start"));
